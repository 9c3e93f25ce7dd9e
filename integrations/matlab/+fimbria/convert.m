function files = convert(varargin)
%CONVERT  Convert an image or a tractogram from one format to another.
%   FILES = FIMBRIA.CONVERT(INPUT, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     input: Image to read (.nii, .hdr/.img or .mif, each also with .gz), or tractogram (.tck, .trk, .trx,
%     or a TRX folder)
%
%   Named:
%     datatype: Type of the samples written: int8 to uint64, float32, float64; bit and float16 for .mif. Of
%     a tractogram's coordinates: float32; float64 for .tck and .trx, float16 for .trx [default: as stored,
%     scaling included; where the format has no such type, the next that holds all of it]
%     tensors: Bring tensors from one program's order and frame to another's, such as dipy:mrtrix; of
%     fimbria, fsl, mrtrix, dipy. A map of 6 volumes is of diffusion tensors, one of 15 of kurtosis
%     reference: Image whose grid .trk and .trx name [default: the one that the input names]
%     trx_folder: Write TRX as a folder OUT instead of a file
%     bval: b-values in s/mm², FSL form [s/mm²] [default: found beside the image]
%     bvec: Directions, FSL form [default: found beside the image]
%     fslgrad: Directions and b-values, FSL form, in MRtrix3's order [s/mm²]
%     grad: Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]
%     bmatrix: b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]
%     bvec_frame: Axes in which bvecs or b-matrices are given [default: fsl]
%     b0_threshold: b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]
%     bvalue_scaling: What directions that are not of unit length mean [default: auto]
%     output: Folder (or, where the command writes one file, the file) to write
%     force: Overwrite existing outputs
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default:
%     0]
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [from 0 on] [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     file: of an image: the image, in the format of its name: .nii, .hdr, .img, .mif, each also with .gz;
%     or of streamlines: the tractogram: .tck, .trk, .trx
%     file_bval: of an image with a gradient table, beside all but .mif: b of every volume
%     file_bvec: of an image with a gradient table, beside all but .mif: its direction
%     file_run_json: what was done
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'input', '', ','
    'datatype', '--datatype', ','
    'tensors', '--tensors', ','
    'reference', '--reference', ','
    'trx_folder', '--trx-folder', 'flag'
    'bval', '--bval', ','
    'bvec', '--bvec', ','
    'fslgrad', '--fslgrad', ' '
    'grad', '--grad', ','
    'bmatrix', '--bmatrix', ','
    'bvec_frame', '--bvec-frame', ','
    'b0_threshold', '--b0-threshold', ','
    'bvalue_scaling', '--bvalue-scaling', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'threads', '--threads', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'file', {''}, false
    'file_bval', {'.bval'}, false
    'file_bvec', {'.bvec'}, false
    'file_run_json', {'.run.json'}, false
  };
  files = fimbria.internal.run('convert', options, written, 'output', '', true, varargin);
end
