{{ belief_by(['ctx', 'src', 'ver', 'shard_half']) }}
order by fixture, ctx, src, ver, shard_half
