"""What a turn is, whatever its source: commands, kinds, observations, think state. Contract: sn97 d, definitions."""
