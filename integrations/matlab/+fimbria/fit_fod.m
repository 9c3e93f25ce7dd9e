function files = fit_fod(varargin)
%FIT_FOD  Estimate fibre orientation densities by constrained spherical deconvolution.
%   FILES = FIMBRIA.FIT_FOD(DWI, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     dwi: Diffusion-weighted series, 4-D
%
%   Named:
%     order: Degree of the density [default: 8]
%     tissues: Compartments of the signal [default: auto]
%     response: Response of single fibres, MRtrix3's text [default: estimated]
%     response_gm: Response of grey matter [default: estimated]
%     response_csf: Response of fluid [default: estimated]
%     regularisation: Preference for small coefficients, relative to the largest diagonal of the normal
%     equations [above 0] [default: 0.00001]
%     shells: Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from
%     0 on, s/mm²] [default: all]
%     bmax: Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]
%     data: The series as an option, as in FSL's dtifit
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
%     output: Folder (or, where the command writes one file, the file) to write
%     force: Overwrite existing outputs
%     format: Format of the maps [default: nii.gz, or mif with --layout mrtrix]
%     layout: Whose names, orders and frames to write [default: fimbria]
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default:
%     0]
%     device: Where to work: auto (every GPU, for what it is expected to gain at; else the CPU), cpu, gpu,
%     gpu:0,1 or opencl:0 [default: auto]
%     device_memory: Fraction of a device's free memory to use [above 0, up to 1] [default: 0.8]
%     follow: Fit again whenever more volumes are there, until all of the gradient table are, or until
%     Ctrl-C. DWI is a file that grows or is replaced, or a folder that receives volumes, taken in the order
%     of their numbers; the table must have a row for each volume to come
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [from 0 on] [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     fod: fibre orientation density, spherical harmonics in MRtrix3's basis and order, scanner RAS axes;
%     integral 1 for tissue like that of the response
%     hot: the same density as unique entries of a symmetric tensor, lexicographic (1111 1112 ...), scanner
%     RAS axes
%     tissues: amounts of fibres (integral of the density) and, where they are told apart, of grey matter
%     and fluid, in units of their responses
%     residual: root mean square of measured minus predicted signal, input units [arbitrary]
%     status: 0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
%     determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined
%     response_txt: the response of single fibres, a row of zonal harmonics for each shell, as MRtrix3
%     writes it
%     response_gm_txt: where there are three tissues: that of grey matter
%     response_csf_txt: where there are three tissues: that of fluid
%     mask: where no mask is given: the mask that was made
%     mean_b0: where no mask is given: the mean unweighted volume that it was made of [arbitrary]
%     run_json: inputs with hashes, parameters, machine, times, counts, warnings
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'dwi', '', ','
    'order', '--order', ','
    'tissues', '--tissues', ','
    'response', '--response', ','
    'response_gm', '--response-gm', ','
    'response_csf', '--response-csf', ','
    'regularisation', '--regularisation', ','
    'shells', '--shells', ','
    'bmax', '--bmax', ','
    'data', '--data', ','
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
    'format', '--format', ','
    'layout', '--layout', ','
    'threads', '--threads', ','
    'device', '--device', ','
    'device_memory', '--device-memory', ','
    'follow', '--follow', 'flag'
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'fod', {'fod.{image}', '*model-csd_param-wm_dwimap.{image}', 'fod_fod.{image}'}, false
    'hot', {'hot.{image}', '*model-csd_param-hot_dwimap.{image}', 'fod_hot.{image}'}, false
    'tissues', {'tissues.{image}', '*model-csd_param-tissues_dwimap.{image}', 'fod_tissues.{image}'}, false
    'residual', {'residual.{image}', '*model-csd_param-residual_dwimap.{image}', 'fod_residual.{image}'}, false
    'status', {'status.{image}', '*model-csd_param-status_dwimap.{image}', 'fod_status.{image}'}, false
    'response_txt', {'response.txt'}, false
    'response_gm_txt', {'response_gm.txt'}, false
    'response_csf_txt', {'response_csf.txt'}, false
    'mask', {'mask.{image}'}, false
    'mean_b0', {'mean_b0.{image}'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('fit fod', options, written, 'output', 'fod', false, varargin);
end
