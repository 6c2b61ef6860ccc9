"""Steps: work on files, artifact by artifact, in a process of its own; what they share stands here once."""
