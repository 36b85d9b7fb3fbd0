"""The command that moves files to a bucket."""

from uuid import uuid4

from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import Shell
from tests.s3_server import S3Server


def test_files_are_moved_by_a_command(sqlite_shell: Shell, s3: S3Server) -> None:
    assert "No bucket to move the files to" in sqlite_shell.fails(Exit.BAD_INPUT, "files", "move")
    refused = sqlite_shell.fails(Exit.BAD_INPUT, "files", "move", "--to", "s3://me:hunter2@bucket")
    assert "contains credentials" in refused
    assert "hunter2" not in refused
    source = sqlite_shell.data.parent / "in.txt"
    source.write_text("one\ntwo\n")
    task = sqlite_shell.submit("pages", str(source))
    sqlite_shell.tick("pages")
    address = s3.address(uuid4().hex)
    told = sqlite_shell.json("files", "move", "--to", address)
    assert (told["place"], told["copied"] > 0, told["removed"]) == (address, True, 0)
    said = sqlite_shell.ok("files", "move", "--to", address, "--remove")
    assert f"Removed {told['copied']} files from the data folder" in said
    assert not list(sqlite_shell.data.glob("blobs/*/*"))
    assert sqlite_shell.ok("result", task)
