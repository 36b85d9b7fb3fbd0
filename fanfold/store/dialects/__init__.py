"""All that differs between databases: `dialect` and `access` say what is asked of one, `sqlite` and `postgresql` answer."""
