"""The steps of a task, one module each: download, prompt, generate, watermark, upload, deliver."""
