"""Names that readers may mistake for others, and names of every script that they do not."""

import pytest

from gatechart.values.look_alikes import first_alike, unclear


@pytest.mark.parametrize(
    "name",
    [
        "заказ-17",
        "订单-17",
        "注文-17",
        "주문-17",
        "παραγγελία-17",
        "طلب-17",
        "הזמנה-17",
        "ऑर्डर-17",
        "คำสั่ง-17",
        "պատվեր-17",
        "commande-reçue-17",
        "東京Tower-17",
        "order заказ 17",
        "می\N{ZERO WIDTH NON-JOINER}خواهم",  # Persian separates letters so
        "क्\N{ZERO WIDTH JOINER}ष",  # Hindi, after a virama
        "a/b?c=d&e.f@g_h~1",
    ],
)
def test_a_name_in_one_script_is_clear(name):
    assert unclear(name) == ""


@pytest.mark.parametrize(
    "name",
    [
        "an\N{ZERO WIDTH NON-JOINER}na",
        "an\N{ZERO WIDTH JOINER}na",
        "\N{ZERO WIDTH NON-JOINER}anna",
        "заказ\N{ZERO WIDTH NON-JOINER}",
        "заk\N{ZERO WIDTH JOINER}аз",
        "ann\N{GREEK SMALL LETTER ALPHA}",
        "a\tb",
        "a\nb",
        "a\x1b[31mb",
        "a\x7fb",
        "a b ",
    ],
)
def test_a_name_with_hidden_characters_or_mixed_scripts_is_unclear(name):
    assert unclear(name)


def test_the_first_look_alike_is_found_and_a_name_is_none_of_itself():
    assert first_alike("\N{CYRILLIC SMALL LETTER O}ps", ["ops", "Ops"]) == "ops"
    assert first_alike("ops", ["ops", "press"]) is None
