"""Policy checkpoints, sampled in every context and experiment of the gateway contract."""
