"""`assay build`: dbt in a process of its own, one line of progress, and a summary of what matters."""
