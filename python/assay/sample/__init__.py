"""An invented raw tree in the published layout: invented repositories, simulated agents, ruled judgements."""
