{{ belief_by(['ctx', 'src', 'shard_half']) }}
order by fixture, ctx, src, shard_half
