"""What an application declares: pipelines, rules, options, forms, actions and its own words."""
