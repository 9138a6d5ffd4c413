"""What reads and writes a chart file part by part: positions, faults, names, and the parts that features share."""
