function files = run(varargin)
%RUN  Run all stages over one subject, from its series to a report.
%   FILES = FIMBRIA.RUN(DWI, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     dwi: Diffusion-weighted series, 4-D
%
%   Named:
%     config: Take everything from a TOML file instead
%     settings: Set one parameter of a stage, such as dti.method=nlls; may be repeated
%     fix_gradients: Mend the gradient table as its check says, before anything is fitted; refused where the
%     data do not tell
%     bval: b-values in s/mm², FSL form [s/mm²] [default: found beside the image]
%     bvec: Directions, FSL form [default: found beside the image]
%     fslgrad: Directions and b-values, FSL form, in MRtrix3's order [s/mm²]
%     grad: Gradient table in MRtrix3 form: x y z b per line, scanner axes [s/mm²]
%     bmatrix: b-matrices in s/mm²: six values (xx xy xz yy yz zz) or nine per volume [s/mm²]
%     bvec_frame: Axes in which bvecs or b-matrices are given [default: fsl]
%     b0_threshold: b up to which a volume counts as unweighted [from 0 on, s/mm²] [default: 50]
%     bvalue_scaling: What directions that are not of unit length mean [default: auto]
%     mask: Voxels to work on: a 3-D image on the grid of the series, inside where above zero [default: a
%     simple brain mask from the unweighted volumes]
%     grad_dev: Gradient non-linearity as FSL gives it (nine volumes): every voxel gets its own b and
%     directions; for `fit dti` and `sticks`, other methods refuse it
%     scratch: Folder for compressed images that exceed their share of --memory [default: the system's for
%     temporary files]
%     output: Folder to write
%     force: Compute everything again and overwrite existing outputs
%     resume: Keep the stages that an earlier run finished with the same inputs and parameters
%     format: Format of the maps [default: nii.gz, or mif with --layout mrtrix]
%     layout: Whose names, orders and frames to write [default: fimbria]
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default:
%     0]
%     device: Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu,
%     gpu:0,1 or opencl:0 [default: auto]
%     device_memory: Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [from 0 on] [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     load: mask and mean_b0 where no mask is given: the one that was made, uint8, and the mean unweighted
%     volume that it was made of
%     fix_gradients: with --fix-gradients: gradients.b: the mended table, MRtrix3 form
%     dti: maps and texts, as `fimbria fit dti` writes them
%     hot: where asked for: maps and texts, as `fimbria fit hot` writes them
%     fod: with peaks, or where asked for: maps and texts, as `fimbria fit fod` writes them
%     dki: maps and texts, as `fimbria fit dki` writes them
%     stremi: maps and texts, as `fimbria fit stremi` writes them
%     dki1d: where asked for: maps and texts, as `fimbria fit dki1d` writes them
%     stremi1d: where asked for: maps and texts, as `fimbria fit stremi1d` writes them
%     ivim: where asked for: maps and texts, as `fimbria fit ivim` writes them
%     mono: where asked for: maps and texts, as `fimbria fit mono` writes them
%     msdki: where asked for: maps and texts, as `fimbria fit msdki` writes them
%     expr: with a table of its own, or where asked for: maps and texts, as `fimbria fit expr` writes them
%     quality: quality.json: verdicts on the series and the numbers they rest on
%     peaks: the fibre directions, as `fimbria peaks` writes them
%     sticks: a bedpostX folder, as `fimbria sticks` writes it, of the voxels with a peak
%     track: tracks.trx (or .tck, .trk): streamlines of the voxels with a direction (through densities
%     10000, of seeds drawn at random), with their data as `fimbria track` writes them; visits: how many
%     pass each voxel
%     life: what each of them explains, as `fimbria life` writes it
%     sift2: where asked for: weights of the streamlines, as `fimbria sift2` writes them
%     connectome: with a table [connectome]: between which labels they run, as `fimbria connectome` writes
%     it
%     field: with a table [gre]: as `fimbria field` writes it
%     qsm: with a table [gre]: as `fimbria qsm` writes it
%     report: report.html, one page with pictures
%     run_json: what was done, written last; each folder has one of its own
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'dwi', '', ','
    'config', '--config', ','
    'settings', '--set', 'again'
    'fix_gradients', '--fix-gradients', 'flag'
    'bval', '--bval', ','
    'bvec', '--bvec', ','
    'fslgrad', '--fslgrad', ' '
    'grad', '--grad', ','
    'bmatrix', '--bmatrix', ','
    'bvec_frame', '--bvec-frame', ','
    'b0_threshold', '--b0-threshold', ','
    'bvalue_scaling', '--bvalue-scaling', ','
    'mask', '--mask', ','
    'grad_dev', '--grad-dev', ','
    'scratch', '--scratch', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'resume', '--resume', 'flag'
    'format', '--format', ','
    'layout', '--layout', ','
    'threads', '--threads', ','
    'device', '--device', ','
    'device_memory', '--device-memory', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'load', {'load'}, false
    'fix_gradients', {'fix_gradients'}, false
    'dti', {'dti'}, false
    'hot', {'hot'}, false
    'fod', {'fod'}, false
    'dki', {'dki'}, false
    'stremi', {'stremi'}, false
    'dki1d', {'dki1d'}, false
    'stremi1d', {'stremi1d'}, false
    'ivim', {'ivim'}, false
    'mono', {'mono'}, false
    'msdki', {'msdki'}, false
    'expr', {'expr'}, false
    'quality', {'quality'}, false
    'peaks', {'peaks'}, false
    'sticks', {'sticks'}, false
    'track', {'track'}, false
    'life', {'life'}, false
    'sift2', {'sift2'}, false
    'connectome', {'connectome'}, false
    'field', {'field'}, false
    'qsm', {'qsm'}, false
    'report', {'report'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('run', options, written, 'output', 'run', false, varargin);
end
