function files = fit_stremi1d(varargin)
%FIT_STREMI1D  Fit a stretched exponential along each gradient direction: A, gamma and Mgamma.
%   FILES = FIMBRIA.FIT_STREMI1D(DWI, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     dwi: Diffusion-weighted series, 4-D
%
%   Named:
%     bmax: Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: all are used]
%     likelihood: How noise enters [default: gaussian]
%     sigma: Standard deviation of the noise [from 0 on, units of the input] [default: estimated from the
%     spread of repeated unweighted volumes]
%     background: Estimate it from the magnitude in the voxels of this mask, which must hold air, not zeros
%     precision: Arithmetic of the fit; measurements and maps are held in single precision [default: single]
%     max_iterations: Iterations after which a fit is given up and marked [from 1 on] [default: 100, of
%     expressions 1000]
%     robust: Keep outliers from pulling: fit again with weights made of the residuals, until these settle
%     (the scale of the residuals is that of each fit by itself)
%     errors: Also write the standard error of each map of the model, NAME_error, in its unit: from the
%     residuals (sigma with the Rician likelihood) and the curvature at the solution; 0 where unknown, as at
%     a bound; with --robust some 10 % too small
%     shells: Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from
%     0 on, s/mm²] [default: all]
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
%     A: generalised diffusivity of exp(-A b^gamma), (10^-3 mm^2/s)^gamma: A^(1/gamma) is in 10^-3 mm²/s;
%     one volume per direction of directions.txt
%     gamma: stretching exponent, one volume per direction of directions.txt; 0 where the signal loses less
%     than 1 %
%     MA: mean of A over the directions that converged
%     Mgamma: mean of gamma over the directions that converged; NaN where none tells it
%     S0: signal without diffusion weighting, mean of the fits of all directions, input units [arbitrary]
%     residual: root mean square of measured minus predicted signal, input units [arbitrary]
%     status: 0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
%     determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined
%     error: with --errors: the standard error of the map of that name, in its unit
%     directions_txt: x y z of each direction, a line each, unit, in the order of the volumes
%     mask: where no mask is given: the mask that was made
%     mean_b0: where no mask is given: the mean unweighted volume that it was made of [arbitrary]
%     run_json: inputs with hashes, parameters, machine, times, counts, warnings
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'dwi', '', ','
    'bmax', '--bmax', ','
    'likelihood', '--likelihood', ','
    'sigma', '--sigma', ','
    'background', '--background', ','
    'precision', '--precision', ','
    'max_iterations', '--max-iterations', ','
    'robust', '--robust', ','
    'errors', '--errors', 'flag'
    'shells', '--shells', ','
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
    'A', {'A.{image}', '*model-stremi1d_param-a_dwimap.{image}', 'stremi1d_A.{image}', 'a.{image}'}, false
    'gamma', {'gamma.{image}', '*model-stremi1d_param-gamma_dwimap.{image}', 'stremi1d_gamma.{image}'}, false
    'MA', {'MA.{image}', '*model-stremi1d_param-ma_dwimap.{image}', 'stremi1d_MA.{image}', 'ma.{image}'}, false
    'Mgamma', {'Mgamma.{image}', '*model-stremi1d_param-mgamma_dwimap.{image}', 'stremi1d_Mgamma.{image}', 'mgamma.{image}'}, false
    'S0', {'S0.{image}', '*model-stremi1d_param-s0_dwimap.{image}', 'stremi1d_S0.{image}', 'b0.{image}'}, false
    'residual', {'residual.{image}', '*model-stremi1d_param-residual_dwimap.{image}', 'stremi1d_residual.{image}'}, false
    'status', {'status.{image}', '*model-stremi1d_param-status_dwimap.{image}', 'stremi1d_status.{image}'}, false
    'error', {'*_error.{image}'}, true
    'directions_txt', {'directions.txt'}, false
    'mask', {'mask.{image}'}, false
    'mean_b0', {'mean_b0.{image}'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('fit stremi1d', options, written, 'output', 'stremi1d', false, varargin);
end
