"""Charts of other formats: SCXML documents and machines of other packages; and a ready-made graph of a human desk."""
