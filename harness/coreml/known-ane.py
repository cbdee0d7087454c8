"""Makes known-ane.mlpackage, the model that the engine is known to run: eight half-precision 512x512 products in a row.

Run with coremltools 9 on any system: `python3 known-ane.py`. The model has no weights, so the package is two small files,
which are committed and built into the observer. It is made once and not in a build: a Mac needs no Python for it.
"""

import json
import pathlib

import coremltools as ct
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import types

SIDE = 512
PRODUCTS = 8


def square():
    return mb.TensorSpec((SIDE, SIDE), dtype=types.fp16)


@mb.program(input_specs=[square(), square()], opset_version=ct.target.macOS14)
def program(x, y):
    product = x
    for n in range(PRODUCTS):
        product = mb.matmul(x=product, y=y, name="z" if n == PRODUCTS - 1 else f"product_{n}")
    return product


model = ct.convert(
    program,
    source="milinternal",
    convert_to="mlprogram",
    compute_precision=ct.precision.FLOAT16,
    minimum_deployment_target=ct.target.macOS14,
    skip_model_load=True,
)
spec = model.get_spec()
# The day of the conversion would make each build another file.
spec.description.metadata.userDefined.clear()
for attribute in ("buildInfo",):
    spec.mlProgram.attributes.pop(attribute, None)
item = "A1B2C3D4-0000-4000-8000-000000000001"
manifest = {
    "fileFormatVersion": "1.0.0",
    "itemInfoEntries": {
        item: {
            "author": "com.apple.CoreML",
            "description": "CoreML Model Specification",
            "name": "model.mlmodel",
            "path": "com.apple.CoreML/model.mlmodel",
        }
    },
    "rootModelIdentifier": item,
}
package = pathlib.Path(__file__).parent / "known-ane.mlpackage"
folder = package / "Data" / "com.apple.CoreML"
folder.mkdir(parents=True, exist_ok=True)
(folder / "model.mlmodel").write_bytes(spec.SerializeToString(deterministic=True))
(package / "Manifest.json").write_text(json.dumps(manifest, indent=4) + "\n")
