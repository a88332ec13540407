"""Commands' panels and forms in a terminal, which has no buttons. Pure.

Rules. What a panel asks is answered with the words that its buttons declare (`PanelAction.typed`). A form is filled in
field by field; a choice is the number of an entry, its name, or the beginning of one name alone.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from bot.chat.panels import FieldKind, Filled, FormField, Panel, PanelAction, PanelForm
from bot.chat.texts import formatting
from bot.platforms import texts as platforms_texts

NUMBER_DIGITS: Final = 3  # Of an entry's number: no form has a thousand choices


def panel_text(panel: Panel) -> str:
    """Return a panel as text. There are no buttons: parts with actions become list items."""
    items = [f"- {part.text}" for part in panel.parts if part.text and part.actions]
    below = [part.text for part in panel.parts if part.text and not part.actions]
    return "\n\n".join(filter(None, [panel.text, "\n".join(items), *below]))


def typed_actions(panel: Panel) -> Mapping[str, PanelAction]:
    """Return the panel's buttons by what is typed for them, "" for anything else; {} if the panel asks nothing."""
    return {typed: action for action in panel.actions for typed in action.typed}


def choices_text(panel: Panel) -> str:
    """Return the sentences that say what can be typed for the panel's buttons."""
    offered = [(action.typed[-1], _label(action)) for action in panel.actions if any(action.typed)]
    return platforms_texts.write_for(offered, next((_label(item) for item in panel.actions if "" in item.typed), ""))


def _label(action: PanelAction) -> str:
    return action.label if action.form is None else action.form.submit


def asked_fields(form: PanelForm) -> Sequence[FormField]:
    """Return the fields that are asked for: there are no channels in a terminal, so no other one can be meant."""
    return [form_field for form_field in form.fields if form_field.kind is not FieldKind.ELSEWHERE]


def field_prompt(form_field: FormField, current: str) -> str:
    """Return what is asked for a field. `current`: the value that Enter alone leaves in it."""
    choices = _choices_of(form_field)
    current = _preselected(form_field, current)
    if choices and (current or current in choices):
        places = {value: str(number) for number, value in enumerate(choices, 1)}
        values = current.split() if form_field.kind is FieldKind.PICKS else [current]
        current = ", ".join(places[value] for value in values if value in places)
    return platforms_texts.fill_in(
        formatting.literal(form_field.label),
        formatting.literal(form_field.hint),
        formatting.literal(current),
        [f"{number}. {formatting.literal(title)}" for number, title in enumerate(choices.values(), 1)],
        several=form_field.kind is FieldKind.PICKS,
        required=not form_field.optional,
    )


def field_value(form_field: FormField, typed: str, current: str) -> str | None:
    """Return the value that was typed for a field; None for what is none of its choices."""
    text, choices = typed.strip(), _choices_of(form_field)
    if not text:
        return _preselected(form_field, current)
    if not choices:
        return text
    values = _chosen(text, choices)
    several = form_field.kind is FieldKind.PICKS
    return " ".join(values) if values is not None and (several or len(values) == 1) else None


def mistake_in(form: PanelForm, form_field: FormField, filled: Filled) -> str:
    """Return what is wrong with the field's value, in a sentence; "" for nothing. `filled`: the values so far."""
    value = filled[form_field.name]
    if mistake := form.mistakes({item.name: filled.get(item.name, "") for item in form.fields}).get(form_field.name):
        return mistake
    if not (value or form_field.optional or form_field.kind is FieldKind.BOX):
        return platforms_texts.FILL_REQUIRED
    if form_field.max_chars is not None and len(value) > form_field.max_chars:
        return platforms_texts.FILL_TOO_LONG.format(most=form_field.max_chars)
    return ""


def _choices_of(form_field: FormField) -> Mapping[str, str]:
    return platforms_texts.BOX_CHOICES if form_field.kind is FieldKind.BOX else form_field.choices


def _preselected(form_field: FormField, current: str) -> str:
    is_preselected = form_field.kind is FieldKind.CHOICE and not current
    return next(iter(form_field.choices), "") if is_preselected else current


def _chosen(text: str, choices: Mapping[str, str]) -> Sequence[str] | None:
    """Return the values of the named choices, each once; None if any name is none of them, or may mean two.

    A number is the one in the list, even if a choice has such a name.
    """
    words = text.replace(",", " ").split()
    if words and all(word.isascii() and word.isdecimal() and len(word) <= NUMBER_DIGITS for word in words):
        numbered = dict(enumerate(choices, 1))
        found = [numbered.get(int(word)) for word in words]
    elif (whole := _named(text, choices)) is not None:
        found = [whole]
    else:
        found = [_named(name, choices) for name in text.split(",")]
    values = [value for value in found if value is not None]
    return list(dict.fromkeys(values)) if len(values) == len(found) else None


def _named(name: str, choices: Mapping[str, str]) -> str | None:
    name = " ".join(name.split()).casefold()
    same = [value for value, title in choices.items() if title.casefold() == name]
    begun = [value for value, title in choices.items() if name and title.casefold().startswith(name)]
    matches = same or begun
    return matches[0] if len(matches) == 1 or same else None
