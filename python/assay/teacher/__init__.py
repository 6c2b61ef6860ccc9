"""Teacher references of the duels: agreement, repair, shell check, prompts and tokens (contract sn120 C)."""
