"""Google's own message types, as the judges of every request and every answer.

Google's client library lags behind the service: fields that gcloud sends and the library does
not know are added here, as data, to a copy of its descriptors. Unknown fields, wrong types and
enums as names or numbers are then judged by protobuf itself.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

from sandbox.errors import JsonObject, bad_field, invalid

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor
    from google.protobuf.message import Message

VERSIONS = ("v1", "v2", "v2alpha1")
# What asks for several nodes in a request, in the word of each version.
SEVERAL = {"v2": "multisliceParams", "v2alpha1": "multiNodeParams"}
_Field = descriptor_pb2.FieldDescriptorProto
# Of messages and of fields: the C extension has types of its own for them.
_Descriptor = Any
# Numbers of added fields matter nowhere: these messages are only ever read from JSON.
_FIRST_NUMBER = 900
# What is repeated of a value that is refused.
_SHOWN_MAX = 200
# Methods that are no service's own, and what their requests have.
_OF_EVERY_API = {
    "CancelOperation": frozenset({"name"}),
    "WaitOperation": frozenset({"name", "timeout"}),
}
_UNKNOWN = re.compile(r'has no field named "(?P<field>[^"]+)" at "(?P<place>[^"]+)"')
_PLACE = re.compile(r' at "?\w+\.(?P<field>[\w.\[\]]*\w)"?\.*$')


@dataclass(frozen=True, slots=True)
class Extra:
    """A field of the service that the client library does not know.

    ``kind`` is ``text``, or a message or an enum by its name within the package.
    """

    version: str
    message: str
    name: str
    kind: str


_MODEL = ".ProvisioningModel"
# Taken from the messages that gcloud 528 is generated from.
EXTRAS = (
    Extra("v2alpha1", "QueuedResource", "provisioning_model", _MODEL),
    Extra("v2alpha1", "QueuedResource", "run_duration", ".RunDuration"),
    Extra("v2alpha1", "SchedulingConfig", "provisioning_model", _MODEL),
    Extra("v2alpha1", "SchedulingConfig", "reservation_name", "text"),
    Extra("v2alpha1", "SchedulingConfig", "termination_timestamp", "text"),
    Extra("v2", "Node", "upcoming_maintenance", ".UpcomingMaintenance"),
)
"""Fields added to the library's messages."""


def parse(body: object, version: str, kind: str) -> Message:
    """Read JSON as a message.  Raises INVALID_ARGUMENT with the field's name."""
    if not isinstance(body, dict):
        raise invalid("Invalid JSON payload received. Expected an object.")
    message = _class_of(version, kind)()
    _check_kinds(body, message.DESCRIPTOR, "")
    try:
        json_format.ParseDict(body, message)
    except json_format.ParseError as error:
        raise _explained(str(error)) from None
    return message


def check_whole(body: object, version: str, method: str) -> None:
    """Judge the body of a method whose body is the whole request.  Raises INVALID_ARGUMENT."""
    known = _OF_EVERY_API.get(method)
    if known is None:
        parse(body, version, f"{method}Request")
    elif not isinstance(body, dict):
        raise invalid("Invalid JSON payload received. Expected an object.")
    elif unknown := sorted(set(body) - known):
        raise _unknown(unknown[0], "")


def fits(body: JsonObject, version: str, kind: str) -> bool:
    """Tell whether JSON is such a message."""
    try:
        json_format.ParseDict(body, _class_of(version, kind)())
    except json_format.ParseError:
        return False
    return True


def as_json(message: Message) -> JsonObject:
    """Render a message: 64-bit numbers as strings, enums by name."""
    rendered: JsonObject = json_format.MessageToDict(message)
    return rendered


def shown(rendered: JsonObject, version: str, kind: str, *, numbers: bool = False) -> JsonObject:
    """Bring an answer into the form of a version: what it does not know is left out.

    Enums are names, or with ``numbers`` numbers, as ``enum-encoding=int`` asks.
    """
    message = _class_of(version, kind)()
    json_format.ParseDict(rendered, message, ignore_unknown_fields=True)
    answer: JsonObject = json_format.MessageToDict(message, use_integers_for_enums=numbers)
    return answer


def spelled(body: JsonObject, version: str) -> JsonObject:
    """Spell a request for several nodes as a version does."""
    tpu = body.get("tpu")
    if not isinstance(tpu, dict):
        return body
    words = dict.fromkeys(SEVERAL.values(), SEVERAL[version])
    specs = [
        {words.get(key, key): value for key, value in spec.items()}
        for spec in tpu.get("nodeSpec", ())
    ]
    return {**body, "tpu": {**tpu, "nodeSpec": specs}}


def type_url(version: str, kind: str) -> str:
    """Return what an answer within an operation calls its type."""
    return f"type.googleapis.com/google.cloud.tpu.{version}.{kind}"


def snake(name: str) -> str:
    """Turn a camelCase path to the snake_case of the messages; snake_case stays."""
    return re.sub(r"([A-Z])", lambda match: f"_{match[1].lower()}", name)


def camel(name: str) -> str:
    """Turn a snake_case name to the camelCase of JSON; camelCase stays."""
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


# --- How the messages are made ----------------------------------------------------------------


@cache
def _class_of(version: str, kind: str) -> type[Message]:
    found: type[Message] = message_factory.GetMessageClass(
        _pool(version).FindMessageTypeByName(f"google.cloud.tpu.{version}.{kind}")
    )
    return found


@cache
def _pool(version: str) -> descriptor_pool.DescriptorPool:
    """Make a pool of our own; the library's stays as it is."""
    types = import_module(f"google.cloud.tpu_{version}").types
    pool = descriptor_pool.DescriptorPool()
    original = types.Node.pb(types.Node()).DESCRIPTOR.file
    for needed in original.dependencies:
        _copy(needed, pool, {original.name})
    file = _file_of(original)
    _add_new_types(file, version)
    for number, extra in enumerate(EXTRAS, _FIRST_NUMBER):
        if extra.version == version:
            owner = next(found for found in file.message_type if found.name == extra.message)
            owner.field.append(_field_of(extra, number, file.package))
    pool.Add(file)
    return pool


def _file_of(descriptor: FileDescriptor) -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto()
    descriptor.CopyToProto(file)
    return file


def _copy(descriptor: FileDescriptor, pool: descriptor_pool.DescriptorPool, seen: set[str]) -> None:
    if descriptor.name in seen:
        return
    seen.add(descriptor.name)
    for needed in descriptor.dependencies:
        _copy(needed, pool, seen)
    pool.Add(_file_of(descriptor))


def _add_new_types(file: descriptor_pb2.FileDescriptorProto, version: str) -> None:
    if version == "v2":
        alpha = import_module("google.cloud.tpu_v2alpha1").types.UpcomingMaintenance
        alpha.pb(alpha()).DESCRIPTOR.CopyToProto(file.message_type.add())
        _rename_package(file.message_type[-1], file.package)
    if version != "v2alpha1":
        return
    model = file.enum_type.add(name="ProvisioningModel")
    names = ("PROVISIONING_MODEL_UNSPECIFIED", "STANDARD", "SPOT", "RESERVATION_BOUND")
    for number, name in enumerate((*names, "FLEX_START")):
        model.value.add(name=name, number=number)
    run = file.message_type.add(name="RunDuration")
    for number, (name, kind) in enumerate(
        (("max_run_duration", "Duration"), ("termination_time", "Timestamp")), 1
    ):
        run.field.add(
            name=name,
            json_name=camel(name),
            number=number,
            label=_Field.LABEL_OPTIONAL,
            type=_Field.TYPE_MESSAGE,
            type_name=f".google.protobuf.{kind}",
        )


def _rename_package(message: descriptor_pb2.DescriptorProto, package: str) -> None:
    for field in message.field:
        if field.type_name:
            field.type_name = field.type_name.replace("google.cloud.tpu.v2alpha1", package)


def _field_of(extra: Extra, number: int, package: str) -> descriptor_pb2.FieldDescriptorProto:
    field = _Field(
        name=extra.name,
        json_name=camel(extra.name),
        number=number,
        label=_Field.LABEL_OPTIONAL,
    )
    if extra.kind == "text":
        field.type = _Field.TYPE_STRING
    else:
        field.type = _Field.TYPE_ENUM if extra.kind == _MODEL else _Field.TYPE_MESSAGE
        field.type_name = f".{package}{extra.kind}"
    return field


def _explained(text: str) -> Exception:
    """Say which field is wrong, as Google does in ``details``."""
    if unknown := _UNKNOWN.search(text):
        return _unknown(unknown["field"], unknown["place"].partition(".")[2])
    place = _PLACE.search(text)
    return bad_field(place["field"] if place else "", f"Invalid JSON payload received. {text}")


def _unknown(name: str, place: str) -> Exception:
    message = (
        f'Invalid JSON payload received. Unknown name "{name}"'
        f"{f' at {place!r}' if place else ''}: Cannot find field."
    )
    return bad_field(place, message)


def _check_kinds(value: JsonObject, kind: _Descriptor, place: str) -> None:
    """Refuse what protobuf lets pass: an empty list, or an empty text, where a message should be.

    And texts that are none, for which it has no words of its own.
    """
    fields = {name: each for each in kind.fields for name in (each.json_name, each.name)}
    for name, given in value.items():
        field = fields.get(name)
        if field is None or given is None:
            continue
        here = f"{place}.{field.json_name}" if place else field.json_name
        if _is_map(field):
            _require(isinstance(given, dict), here, "TYPE_MAP", given)
        elif field.is_repeated:
            _require(isinstance(given, list), here, "TYPE_LIST", given)
        several = given if field.is_repeated and isinstance(given, list) else [given]
        for number, each in enumerate(() if _is_map(field) else several):
            _check_kind(each, field, f"{here}[{number}]" if field.is_repeated else here)


def _check_kind(value: object, field: _Descriptor, place: str) -> None:
    kind = field.message_type
    if kind is not None and not kind.full_name.startswith("google.protobuf."):
        if not isinstance(value, dict):
            raise _wrong_kind(place, f"type.googleapis.com/{kind.full_name}", value)
        _check_kinds(value, kind, place)
    elif field.type == _Field.TYPE_STRING:
        _require(isinstance(value, str), place, "TYPE_STRING", value)


def _is_map(field: _Descriptor) -> bool:
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def _require(is_right: bool, place: str, kind: str, value: object) -> None:  # noqa: FBT001
    if not is_right:
        raise _wrong_kind(place, kind, value)


def _wrong_kind(place: str, kind: str, value: object) -> Exception:
    shown = json.dumps(value)[:_SHOWN_MAX]
    return bad_field(place, f"Invalid value at '{place}' ({kind}), {shown}")
