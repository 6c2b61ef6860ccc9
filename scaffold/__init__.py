"""The gateway policy and its sampler: numpy and safetensors alone."""
