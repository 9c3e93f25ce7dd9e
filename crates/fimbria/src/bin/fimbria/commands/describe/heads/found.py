IMAGES = ("nii.gz", "nii", "mif", "mif.gz", "hdr", "img", "img.gz")


def _found(written, is_file, names, is_many):
    """The files of these names in the folder `written`, or beside the file `written`."""
    if is_file:
        stem = written
        for extension in IMAGES:
            stem = stem.removesuffix(f".{extension}")
        starts = [written, stem]
    else:
        starts = [os.path.join(written, "")]
    for name in names:
        for extension in IMAGES if "{image}" in name else [""]:
            hits = [h for s in starts for h in sorted(glob.glob(glob.escape(s) + name.replace("{image}", extension)))]
            if hits:
                return hits if is_many else hits[0]
    return None
