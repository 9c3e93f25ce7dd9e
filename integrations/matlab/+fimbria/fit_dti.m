function files = fit_dti(varargin)
%FIT_DTI  Fit the diffusion tensor: FA, MD, eigenvectors and more.
%   FILES = FIMBRIA.FIT_DTI(DWI, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     dwi: Diffusion-weighted series, 4-D
%
%   Named:
%     method: How the tensor is estimated [default: wls; with --compat what that program does: ols with fsl,
%     wls with dipy, iwls with mrtrix]
%     compat: Follow the numerics of another program, for comparison
%     precision: Arithmetic of the fit; measurements and maps are held in single precision [default: single]
%     sigma: Standard deviation of the noise, for --method restore [from 0 on, units of the input] [default:
%     estimated in each voxel]
%     maps: Maps to write, separated by commas; status always is [default: all]
%     shells: Use only the shells nearest to these b, separated by commas, and the unweighted volumes [from
%     0 on, s/mm²] [default: all]
%     bmax: Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 1500 where
%     that determines the tensor, all with --compat or --shells]
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
%     FA: fractional anisotropy, 0 to 1 (above 1 where an eigenvalue is negative)
%     MD: mean diffusivity, mm²/s [mm^2/s]
%     AD: axial diffusivity, the largest eigenvalue, mm²/s [mm^2/s]
%     RD: radial diffusivity, the mean of the other two eigenvalues, mm²/s [mm^2/s]
%     L1: largest eigenvalue, mm²/s [mm^2/s]
%     L2: middle eigenvalue, mm²/s [mm^2/s]
%     L3: smallest eigenvalue, mm²/s [mm^2/s]
%     V1: unit eigenvector of L1, x y z in scanner RAS axes, sign arbitrary
%     V2: unit eigenvector of L2, x y z in scanner RAS axes, sign arbitrary
%     V3: unit eigenvector of L3, x y z in scanner RAS axes, sign arbitrary
%     MO: mode, -1 (planar) to 1 (linear)
%     S0: signal without diffusion weighting, input units [arbitrary]
%     tensor: diffusion tensor, xx xy xz yy yz zz in scanner RAS axes, mm²/s [mm^2/s]
%     residual: root mean square of measured minus predicted signal, input units [arbitrary]
%     status: 0 outside mask, 1 fitted, 2 constraint active, 3 not converged, 4 bad signal, 5 not
%     determined, 6 fitted, some samples not positive, 7 fitted, some maps undefined
%     mask: where no mask is given: the mask that was made
%     mean_b0: where no mask is given: the mean unweighted volume that it was made of [arbitrary]
%     run_json: inputs with hashes, parameters, machine, times, counts, warnings
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'dwi', '', ','
    'method', '--method', ','
    'compat', '--compat', ','
    'precision', '--precision', ','
    'sigma', '--sigma', ','
    'maps', '--maps', ','
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
    'FA', {'FA.{image}', '*model-tensor_param-fa_dwimap.{image}', 'dti_FA.{image}', 'fa.{image}'}, false
    'MD', {'MD.{image}', '*model-tensor_param-md_dwimap.{image}', 'dti_MD.{image}', 'adc.{image}'}, false
    'AD', {'AD.{image}', '*model-tensor_param-ad_dwimap.{image}', 'dti_AD.{image}', 'ad.{image}'}, false
    'RD', {'RD.{image}', '*model-tensor_param-rd_dwimap.{image}', 'dti_RD.{image}', 'rd.{image}'}, false
    'L1', {'L1.{image}', '*model-tensor_param-l1_dwimap.{image}', 'dti_L1.{image}', 'value1.{image}'}, false
    'L2', {'L2.{image}', '*model-tensor_param-rd1_dwimap.{image}', 'dti_L2.{image}', 'value2.{image}'}, false
    'L3', {'L3.{image}', '*model-tensor_param-rd2_dwimap.{image}', 'dti_L3.{image}', 'value3.{image}'}, false
    'V1', {'V1.{image}', '*model-tensor_param-v1_dwimap.{image}', 'dti_V1.{image}', 'vector1.{image}'}, false
    'V2', {'V2.{image}', '*model-tensor_param-v2_dwimap.{image}', 'dti_V2.{image}', 'vector2.{image}'}, false
    'V3', {'V3.{image}', '*model-tensor_param-v3_dwimap.{image}', 'dti_V3.{image}', 'vector3.{image}'}, false
    'MO', {'MO.{image}', '*model-tensor_param-mode_dwimap.{image}', 'dti_MO.{image}', 'mode.{image}'}, false
    'S0', {'S0.{image}', '*model-tensor_param-s0_dwimap.{image}', 'dti_S0.{image}', 'b0.{image}'}, false
    'tensor', {'tensor.{image}', '*model-tensor_param-diffusivity_dwimap.{image}', 'dti_tensor.{image}', 'dt.{image}'}, false
    'residual', {'residual.{image}', '*model-tensor_param-residual_dwimap.{image}', 'dti_residual.{image}'}, false
    'status', {'status.{image}', '*model-tensor_param-status_dwimap.{image}', 'dti_status.{image}'}, false
    'mask', {'mask.{image}'}, false
    'mean_b0', {'mean_b0.{image}'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('fit dti', options, written, 'output', 'dti', false, varargin);
end
