"""What an application declares: pipelines, rules, options, forms, actions and words."""
