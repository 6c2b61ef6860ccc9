-- A feature without a group would stay in every ablation; a group of a feature that is gone would be worth nothing.
with feature_groups as (

    select * from {{ ref('scorer_feature_groups') }}

),

columns_of_features as (

    select column_name as feature
    from information_schema.columns
    where
        table_schema = '{{ ref("features").schema }}'
        and table_name = '{{ ref("features").identifier }}'
        and column_name not in ('side_id', 'checklist_id', 'question_index', 'question_id', 'found_by', 'question')

)

select
    columns_of_features.feature as column_of_features,
    feature_groups.feature as feature_of_a_group
from columns_of_features
full outer join feature_groups on columns_of_features.feature = feature_groups.feature
where columns_of_features.feature is null or feature_groups.feature is null
