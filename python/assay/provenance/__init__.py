"""Where exported files come from: the manifest of all of them, cards for people, Croissant for machines."""
