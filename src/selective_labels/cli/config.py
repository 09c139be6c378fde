"""Options from a TOML file, and into one."""

import json
import tomllib
from enum import Enum
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from selective_labels.support.errors import InputError

# Not options of the job itself.
NEVER_SAVED = ("config", "save_config", "help")


class ConfigurableCommand(TyperCommand):
    """A command whose --config file adds options before those of the command line are read."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read arguments, those of the file first."""
        ctx.meta["arguments"] = list(args)
        try:
            args = [*_from_file(self, args), *args]
        except InputError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(1) from None
        return super().parse_args(ctx, args)


def save_config(context: typer.Context, path: Path, roles: dict[str, str | None]) -> None:
    """Write the options that are not at their default, and the roles found, to a TOML file.

    Parameters
    ----------
    context : typer.Context
    path : Path
    roles : dict
        Column by role: what was guessed and accepted need not be guessed again.
    """
    from selective_labels.saving.atomic import write_whole

    values = context.params | roles
    lines = []
    for parameter in context.command.params:
        spellings, value = _spellings(parameter), values.get(str(parameter.name))
        unsaid = value in (None, [], (), False) or value == parameter.default
        if spellings and parameter.name not in NEVER_SAVED and not unsaid:
            lines.append(f"{spellings[0]} = {_toml(value)}")
    write_whole(path, "\n".join([f"# selective-labels {context.info_name}", *lines, ""]))


def _spellings(parameter: Any) -> list[str]:
    """Long options of a parameter without their dashes, the usual one first."""
    return [option.removeprefix("--") for option in parameter.opts if option.startswith("--")]


def _from_file(command: Any, args: list[str]) -> list[str]:
    """Options of the --config file that the command line does not give itself."""
    path = _config_path(args)
    if path is None:
        return []
    # Two spellings are one option: the parameter tells.
    known = {key: each.name for each in command.params for key in _spellings(each)}
    typed = (arg.split("=")[0].removeprefix("--") for arg in args if arg.startswith("--"))
    given = {known[key] for key in typed if key in known}
    read: dict[str, str] = {}
    extra: list[str] = []
    for key, value in _read_toml(path).items():
        name = known.get(key)
        if name is None or name in NEVER_SAVED:
            raise InputError(f"{path}: {key!r} is not an option of {command.name}.", "config")
        if name in read:
            raise InputError(f"{path}: {read[name]!r} and {key!r} are the same option; give one.", "config")
        read[name] = key
        if name not in given:
            extra += _arguments(key, value, path)
    return extra


def _config_path(args: list[str]) -> Path | None:
    for place, arg in enumerate(args):
        if arg.startswith("--config="):
            return Path(arg.removeprefix("--config="))
        if arg == "--config" and place + 1 < len(args):
            return Path(args[place + 1])
    return None


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.", "config") from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {(error.strerror or str(error)).lower()}.", "config"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}.", "config") from None


def _arguments(key: str, value: Any, path: Path) -> list[str]:
    """One setting of the file as it would be typed."""
    if isinstance(value, bool):
        return [f"--{key}"] if value else []
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str | int | float) for each in values):
        raise InputError(
            f"{path}: {key!r} must be text, a number, true or false, or a list of these.", "config"
        )
    return [f"--{key}={each}" for each in values]


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Enum):
        value = value.value
    # A basic string of TOML is a string of JSON, but for the character DEL.
    text = json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")
