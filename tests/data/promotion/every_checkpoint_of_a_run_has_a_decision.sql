select
    files.fixture,
    files.checkpoint
from {{ ref('int_checkpoint_files') }} as files
left join {{ ref('decisions') }} as decisions
    on files.fixture = decisions.fixture and files.checkpoint = decisions.checkpoint
where not starts_with(files.checkpoint, 'model/') and decisions.checkpoint is null
