"""Training mixes: proving their masks, writing them as files, and turning them into what a trainer reads."""
