"""What the wheel brings beside code."""

from importlib import metadata


def test_it_brings_its_licence_and_those_of_what_is_linked_in():
    files = [file for file in metadata.files("fimbria") or [] if "licenses" in file.parts]
    texts = {file.name: file.read_text(encoding="utf-8") for file in files}
    assert {"LICENSE-MIT", "LICENSE-APACHE", "LICENSE-THIRD-PARTY.txt"} <= texts.keys()
    others = texts["LICENSE-THIRD-PARTY.txt"]
    assert "rayon 1." in others and "numpy 0." in others, "of the program and of the extension"
    assert "libdeflate" in others and others.count("Permission is hereby granted") > 20
