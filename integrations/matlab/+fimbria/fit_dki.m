function files = fit_dki(varargin)
%FIT_DKI  Fit diffusion kurtosis: MK, AK, RK, KFA, the two tensors and more.
%   FILES = FIMBRIA.FIT_DKI(DWI, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     dwi: Diffusion-weighted series, 4-D
%
%   Named:
%     method: How the tensors are estimated [default: wls; iwls with --compat mrtrix, as that program does]
%     compat: Follow the numerics of another program, for comparison; implies --unconstrained
%     unconstrained: Leave estimates as they are where they violate D > 0, K >= 0 or K <= 3 / (b_max D)
%     bmax: Leave out volumes with b above this (by more than 5 %) [above 0, s/mm²] [default: 3000; all with
%     --compat, as those programs do]
%     clip: Clip MK, AK, RK, Kmax and Kmin to this range [default: -3/7,10]
%     maps: Maps to write, separated by commas; status always is [default: all]
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
%     MK: mean kurtosis, the mean of K over all directions, clipped
%     AK: axial kurtosis, K along the first eigenvector of the tensor, clipped
%     RK: radial kurtosis, the mean of K across that eigenvector, clipped
%     MKT: mean of the kurtosis tensor, (W1111 + W2222 + W3333 + 2 W1122 + 2 W1133 + 2 W2233) / 5
%     KFA: kurtosis fractional anisotropy, 0 to 1
%     Kmax: largest kurtosis of any direction, clipped
%     Kmin: smallest kurtosis of any direction, clipped
%     FA: fractional anisotropy of the tensor, 0 to 1 (above 1 where an eigenvalue is negative)
%     MD: mean diffusivity, mm²/s [mm^2/s]
%     AD: axial diffusivity, the largest eigenvalue, mm²/s [mm^2/s]
%     RD: radial diffusivity, the mean of the other two eigenvalues, mm²/s [mm^2/s]
%     linearity: linearity of the tensor, (λ1 - λ2) / (λ1 + λ2 + λ3); 1: diffusion along a line
%     planarity: planarity of the tensor, 2 (λ2 - λ3) / (λ1 + λ2 + λ3); 1: diffusion in a plane
%     sphericity: sphericity of the tensor, 3 λ3 / (λ1 + λ2 + λ3); 1: the same in every direction
%     V1: unit eigenvector of the largest eigenvalue, x y z in scanner RAS axes, sign arbitrary
%     S0: signal without diffusion weighting, input units [arbitrary]
%     tensor: diffusion tensor, xx xy xz yy yz zz in scanner RAS axes, mm²/s [mm^2/s]
%     kurtosis: kurtosis tensor W in scanner RAS axes, 1111 1112 1113 1122 1123 1133 1222 1223 1233 1333
%     2222 2223 2233 2333 3333
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
    'unconstrained', '--unconstrained', 'flag'
    'bmax', '--bmax', ','
    'clip', '--clip', ','
    'maps', '--maps', ','
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
    'MK', {'MK.{image}', '*model-dki_param-mk_dwimap.{image}', 'dki_MK.{image}', 'mk.{image}'}, false
    'AK', {'AK.{image}', '*model-dki_param-ak_dwimap.{image}', 'dki_AK.{image}', 'ak.{image}'}, false
    'RK', {'RK.{image}', '*model-dki_param-rk_dwimap.{image}', 'dki_RK.{image}', 'rk.{image}'}, false
    'MKT', {'MKT.{image}', '*model-dki_param-mkt_dwimap.{image}', 'dki_MKT.{image}', 'mkt.{image}'}, false
    'KFA', {'KFA.{image}', '*model-dki_param-kfa_dwimap.{image}', 'dki_KFA.{image}', 'kfa.{image}'}, false
    'Kmax', {'Kmax.{image}', '*model-dki_param-kmax_dwimap.{image}', 'dki_Kmax.{image}', 'kmax.{image}'}, false
    'Kmin', {'Kmin.{image}', '*model-dki_param-kmin_dwimap.{image}', 'dki_Kmin.{image}', 'kmin.{image}'}, false
    'FA', {'FA.{image}', '*model-dki_param-fa_dwimap.{image}', 'dki_FA.{image}', 'fa.{image}'}, false
    'MD', {'MD.{image}', '*model-dki_param-md_dwimap.{image}', 'dki_MD.{image}', 'adc.{image}'}, false
    'AD', {'AD.{image}', '*model-dki_param-ad_dwimap.{image}', 'dki_AD.{image}', 'ad.{image}'}, false
    'RD', {'RD.{image}', '*model-dki_param-rd_dwimap.{image}', 'dki_RD.{image}', 'rd.{image}'}, false
    'linearity', {'linearity.{image}', '*model-dki_param-linearity_dwimap.{image}', 'dki_linearity.{image}'}, false
    'planarity', {'planarity.{image}', '*model-dki_param-planarity_dwimap.{image}', 'dki_planarity.{image}'}, false
    'sphericity', {'sphericity.{image}', '*model-dki_param-sphericity_dwimap.{image}', 'dki_sphericity.{image}'}, false
    'V1', {'V1.{image}', '*model-dki_param-v1_dwimap.{image}', 'dki_V1.{image}', 'vector1.{image}'}, false
    'S0', {'S0.{image}', '*model-dki_param-s0_dwimap.{image}', 'dki_S0.{image}', 'b0.{image}'}, false
    'tensor', {'tensor.{image}', '*model-dki_param-diffusivity_dwimap.{image}', 'dki_tensor.{image}', 'dt.{image}'}, false
    'kurtosis', {'kurtosis.{image}', '*model-dki_param-kurtosis_dwimap.{image}', 'dki_kurtosis.{image}', 'dkt.{image}'}, false
    'residual', {'residual.{image}', '*model-dki_param-residual_dwimap.{image}', 'dki_residual.{image}'}, false
    'status', {'status.{image}', '*model-dki_param-status_dwimap.{image}', 'dki_status.{image}'}, false
    'mask', {'mask.{image}'}, false
    'mean_b0', {'mean_b0.{image}'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('fit dki', options, written, 'output', 'dki', false, varargin);
end
