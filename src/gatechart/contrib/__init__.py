"""Charts from elsewhere: SCXML documents, `transitions` machines; and a ready-made graph of people at a desk."""
