function files = sticks(varargin)
%STICKS  Sample ball and sticks: fibre directions of every voxel and how sure they are (bedpostx).
%   FILES = FIMBRIA.STICKS(DWI, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     dwi: Diffusion-weighted series, 4-D
%
%   Named:
%     model: The model of diffusivity, by FSL's number [default: 2]
%     fibres: Fibres per voxel [1 to 4] [default: 3]
%     ard: Fractions that tend to 0 where the data do not ask for the fibre (automatic relevance
%     determination) [default: further]
%     fudge: How strongly: the prior is f^-FUDGE [from 0 on] [default: 1]
%     noise: How noise enters [default: gaussian]
%     f0: A part of the signal that no weighting attenuates [default: none]
%     ratio: Mean and standard deviation of the prior of the zeppelins' ratio (model 3) [above 0] [default:
%     0.13,0.03]
%     burn_in: Jumps before the first sample [from 0 on] [default: 1000]
%     jumps: Jumps from then on [from 1 on] [default: 1250]
%     sample_every: Keep every Nth of them as a sample [from 1 on] [default: 25]
%     adapt_every: Adapt the proposals every N jumps [from 1 on] [default: 40]
%     rng_seed: Seed of the random numbers; the same seed gives the same samples [from 0 on] [default: 0]
%     half: Write the samples in half precision, in one file that only fimbria reads, in place of the merged
%     images
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
%     force: Overwrite existing outputs
%     resume: Go on from what the same command left in OUT/.resume when it was interrupted: to the same
%     bits, or (life) to weights as good with another fingerprint in run.json; keep what it finished
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
%     merged_thsamples: polar angle, a volume per sample; fibres are in the order of their mean fractions
%     [rad]
%     merged_phsamples: azimuth [rad]
%     merged_fsamples: fraction
%     merged_samples_f16: with --half in their place: fimbria track and fimbria probtrackx2 read it. Little
%     endian: 'fimstick', u32 1, fibres, samples, 0, u64 voxels, 3 u64 size of the grid, 12 f64 scanner mm
%     from voxel, u32 index of each voxel (x fastest), then [voxel][sample][fibre] f16 u v f: direction in
%     scanner axes on the octahedron |x|+|y|+|z| = 1 unfolded to a square (u = x, v = y where z >= 0, else
%     (1-|y|) sign x, (1-|x|) sign y), NaN = none; fraction
%     mean_thsamples: mean of the samples, near the dyad [rad]
%     mean_phsamples: the same of the azimuth [rad]
%     mean_fsamples: mean of the samples; mean_fsumsamples: of all fibres
%     dyads: unit principal direction x y z of the samples, sign arbitrary; dyads2_thr0.05 and so on: where
%     the mean of f is at least 0.05
%     dyads_dispersion: 1 - largest eigenvalue of the mean of v vᵀ: 0 sure, 2/3 any direction
%     dyads_thr0_05_modf: the same as dyads2_thr0.05 times mean f2 / mean f1
%     mean_dsamples: mean of d [mm^2/s]
%     std_dsamples: standard deviation of d [mm^2/s]
%     mean_d_stdsamples: of model 2 and 3: mean spread of diffusivities [mm^2/s]
%     mean_Rsamples: of model 3: mean ratio of diffusivity across to along
%     mean_f0samples: with --f0: mean fraction without attenuation
%     mean_tausamples: of rician noise: mean 1/variance of the noise
%     mean_S0samples: signal without weighting, sampled [arbitrary]
%     nodif_brain: the same, measured [arbitrary]
%     nodif_brain_mask: the mask
%     acceptance: share of the proposals after burn-in that were taken, 0.2 to 0.5 where chains mix
%     effective_samples: how many independent samples the kept ones are worth: the least of S0, d and f1
%     status: 0 outside the mask, 1 sampled, 4 bad signal
%     bvals: b of every volume
%     bvecs: its direction
%     xfms_eye_mat: the identity, where FSL looks for a transform
%     commands_txt: the command, as bedpostX leaves it
%     run_json: inputs with hashes, parameters, machine, times, counts, warnings
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'dwi', '', ','
    'model', '--model', ','
    'fibres', '--fibres', ','
    'ard', '--ard', ','
    'fudge', '--fudge', ','
    'noise', '--noise', ','
    'f0', '--f0', ','
    'ratio', '--ratio', ','
    'burn_in', '--burn-in', ','
    'jumps', '--jumps', ','
    'sample_every', '--sample-every', ','
    'adapt_every', '--adapt-every', ','
    'rng_seed', '--rng-seed', ','
    'half', '--half', 'flag'
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
    'threads', '--threads', ','
    'device', '--device', ','
    'device_memory', '--device-memory', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'merged_thsamples', {'merged_th*samples.{image}'}, true
    'merged_phsamples', {'merged_ph*samples.{image}'}, true
    'merged_fsamples', {'merged_f*samples.{image}'}, true
    'merged_samples_f16', {'merged_samples.f16'}, false
    'mean_thsamples', {'mean_th*samples.{image}'}, true
    'mean_phsamples', {'mean_ph*samples.{image}'}, true
    'mean_fsamples', {'mean_f*samples.{image}'}, true
    'dyads', {'dyads*.{image}'}, true
    'dyads_dispersion', {'dyads*_dispersion.{image}'}, true
    'dyads_thr0_05_modf', {'dyads*_thr0.05_modf*.{image}'}, true
    'mean_dsamples', {'mean_dsamples.{image}'}, false
    'std_dsamples', {'std_dsamples.{image}'}, false
    'mean_d_stdsamples', {'mean_d_stdsamples.{image}'}, false
    'mean_Rsamples', {'mean_Rsamples.{image}'}, false
    'mean_f0samples', {'mean_f0samples.{image}'}, false
    'mean_tausamples', {'mean_tausamples.{image}'}, false
    'mean_S0samples', {'mean_S0samples.{image}'}, false
    'nodif_brain', {'nodif_brain.{image}'}, false
    'nodif_brain_mask', {'nodif_brain_mask.{image}'}, false
    'acceptance', {'acceptance.{image}'}, false
    'effective_samples', {'effective_samples.{image}'}, false
    'status', {'status.{image}'}, false
    'bvals', {'bvals'}, false
    'bvecs', {'bvecs'}, false
    'xfms_eye_mat', {'xfms/eye.mat'}, false
    'commands_txt', {'commands.txt'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('sticks', options, written, 'output', 'sticks', false, varargin);
end
