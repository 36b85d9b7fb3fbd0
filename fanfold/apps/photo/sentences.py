"""Messages of the application, by code, in English and Chinese."""

from __future__ import annotations

import fanfold as ff
from fanfold.apps.photo.chinese import SENTENCES

ENGLISH: dict[str, str] = {
    # Settings.
    "no_services": (
        "No image service is configured. Add one to fanfold.toml, for example [photo.services.flux] with protocol, model and "
        "key_env."
    ),
    "which_service": "Several image services are configured: {known}. Name one[[: --service NAME]].",
    "no_service": "There is no image service {name!r}. Configured in fanfold.toml: {known}.",
    "not_a_table": "{place} of fanfold.toml is not a table.",
    "bad_service_name": "{name!r} cannot name an image service. Use lower-case letters, digits, - and _.",
    "no_protocol": "{place} of fanfold.toml has the protocol {protocol!r}. Choose {known:or}.",
    "no_workflow": '{place} of fanfold.toml names no workflow. Save one from ComfyUI in API format: workflow = "file.json"',
    "unknown_setting": "{place} of fanfold.toml has the setting {name!r}, which does not exist. Known are {known}.",
    "bad_setting": "{place} of fanfold.toml has {name} = {value}, which cannot be used.",
    "bad_workflow": "The workflow {path} cannot be read: {why:bare}. Save it from ComfyUI in API format.",
    "bad_output": "The setting `output` of [photo] is no bucket. Write s3://bucket/prefix?endpoint=…&region=…",
    "no_obstore": "Publishing to a bucket needs the extra s3[[: pip install 'fanfold[s3]']].",
    "budget_price_unknown": (
        "The price of {service} is not known. Set `price` of the service in fanfold.toml[[, or give --allow-unknown-cost]]."
    ),
    "budget_too_small": (
        "{count} {count:picture|pictures} by {service} {count:costs|cost} {cost}, more than the budget of {cap}. "
        "Raise the budget, or make fewer."
    ),
    # Inputs.
    "bad_input": "{value} is not an input picture. Give a file, a URL, a data URI, or a key in the object storage.",
    "bad_data_uri": "{value}… is not a picture in a data URI. It must begin with data:image/…;base64,",
    "no_download": "An input picture is missing: {why:ended}",
    "no_storage": "{key} is neither a URL nor a data URI, and there is no object storage to look in. Set `output` in [photo].",
    "no_such_key": "The object storage has no {key}.",
    "bad_key": "{key!r} cannot be a key in the object storage.",
    "input_large": "The input picture {name} is larger than {most:size}. Make it smaller.",
    "too_many_images": "{count} input pictures were given, but at most {most} can be used.",
    "image_as_input": "An input picture among the options is a long data URI. Give it as an input of the task instead.",
    "too_many_pixels": "{name} has {width} × {height} pixels, but the limit is {most} in all. Make it smaller.",
    "bomb": "{name} claims to be larger than any picture. It was not opened.",
    "bad_format": "{name} is in the format {format}. Give {known:or}.",
    "not_decoded": "{name} cannot be decoded: {why:bare}.",
    # Prompts.
    "no_prompt": "There is no prompt. Say what the pictures show, or choose a scene.",
    "prompt_long": "The prompt has more than {most} characters. Shorten it.",
    "bad_parameter": "{value!r} is no parameter. Write name=value.",
    "missing_parameter": "The scene needs a value for {name}[[: --parameters {name}=…]].",
    "unused_parameter": "The scene has no placeholder {name}. Its placeholders are {known}.",
    "bad_scene": "The scene cannot be used. {mistakes:;}",
    "scene_shape": "A scene is text, or an object with `prompt`.",
    "scene_unknown": "A scene has no part {name!r}. Its parts are {known}.",
    "scene_no_prompt": "The scene has no text under `prompt`.",
    "scene_long": "The scene has more than {most} characters. Shorten it.",
    "scene_braces": "`{name}` of the scene is not text, or has braces that do not enclose a name.",
    "scene_table": "`{name}` of the scene is not an object.",
    "scene_paid": "A scene cannot set {name}, because it decides what is paid. Set it with the service in fanfold.toml.",
    "private_key": "{key} is in the private part of the object storage, which holds pictures that are not published yet.",
    "scene_unused": "The scene has a default for {name}, but no such placeholder.",
    # Services.
    "not_asked": "{service} was not asked: {why:bare}.",
    "unreachable": "{service} cannot be reached: {why:bare}.",
    "cut_off": "the connection to {service} ended before it answered ({why:bare})",
    "answered": "{service} answered {status}, so nobody knows whether it accepted the job: {why}",
    "busy": "{service} answered {status}: it is busy",
    "no_access": "{service} answered {status}: {why} Check the key in {variable}, and the account.",
    "refused": "{service} refused the request ({status}): {why}",
    "no_answer": "it has not answered for too long",
    "no_json": "{service} answered something that is not JSON: {why}",
    "foreign_link": "{service} named a link that does not lead to it, so it was not asked",
    "no_id": "{service} accepted the request, but named no job",
    "no_pictures": "the answer has no picture",
    "not_copied": "The picture could not be copied from {service}: {why:bare}.",
    "picture_large": "The picture of {service} is larger than {most} MB.",
    "forgotten": "{service} no longer knows the job {job}, which it had accepted.",
    "job_failed": "{service} could not make the picture: {why:bare}.",
    "job_cancelled": "The job was cancelled at {service}.",
    "moderated": "The moderation of {service} withheld the picture: {why:bare}.",
    "not_listed": "{service} does not list the job yet",
    "no_list": "{service} does not say which jobs it has",
    "list_too_long": "{service} has so many newer jobs that it is not among the last {count} in its list",
    "not_cleared_up": (
        "Nobody knows whether {service} has the job of this picture: it could not be asked ({why:bare}). Look there, then "
        "decide."
    ),
    "not_stopped": "{count} {count:job|jobs} could not be cancelled at the service: {why:bare}.",
    # Marks and publishing.
    "no_font": (
        "No font on this machine has all characters of the watermark {text!r}. Install one, such as fonts-noto-cjk, or name a "
        "font file in {variable}."
    ),
    "no_mark_image": "The watermark is to be a picture, but `watermark_image` in [photo] of fanfold.toml names none.",
    "bad_mark": "The watermark {path} is not a picture.",
    "no_c2pa": "Signing pictures (`c2pa_certificate` in [photo]) needs the extra c2pa[[: pip install 'fanfold[c2pa]']].",
    "not_signed": "The picture cannot be signed (C2PA): {why:bare}.",
    "not_whole": "{name} was not stored completely.",
    "no_label": "{name} does not say that AI made it, so it was not published.",
    # Actions.
    "redone": "{count} {count:picture is|pictures are} made again",
    "late_found": "{count} late {count:picture|pictures} found",
    "never_came": "The service did not finish the job within {hours} {hours:hour|hours}.",
    "not_late": 'The service no longer has a late picture for this job. "Make again" orders another one.',
    "no_such_picture": "There is no picture {name}. There are {known}.",
    "nothing_to_redo": "No picture was begun yet, so nothing can be made again. Retry the task.",
}
say_of_photo = ff.Catalogue("photo", ENGLISH, {"zh": SENTENCES})
"""Make a sentence with a code, which the page shows in the reader's language."""
