function files = qsm(varargin)
%QSM  Map magnetic susceptibility from a local field, guided by diffusion.
%   FILES = FIMBRIA.QSM(FIELD, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     field: The local field (background removed), one volume; with --dqsm-files a deltab.bin [as
%     --field-unit says]
%
%   Named:
%     mask: Voxels to solve for: a 3-D image on the same grid, inside where above zero [default: all but
%     those where the field is 0 from there to the edge of the volume]
%     dti: Folder of `fimbria fit dti`: takes its FA and V1, and for --method dtv its MD and S0
%     v1: Fibre directions, 3 volumes: V1 with --fa, else FA·V1; of several fibres (not of dqsm) 3 volumes
%     each, as long as their fractions; without, every voxel is a sphere
%     fa: Fractional anisotropy
%     v1_frame: Axes the fibre directions refer to [default: what the image says of itself, else scanner]
%     resample: Take FA and fibre directions of another grid at the nearest voxel in the scanner
%     weights: A weight for each voxel's field (its magnitude, say), 0 or more, on the same grid. Used as
%     they stand: where they are far from 1, --kappa or --strength weighs what is penalised less or more
%     magnitude: Magnitude whose edges cost nothing, on the same grid; of several echoes their root mean
%     square
%     two_pass: Voxels whose field is reliable, likewise: they are mapped once more by themselves, and the
%     map there is taken from that
%     truth: Compare with a map of known susceptibility, ppm, on the same grid [ppm]
%     field_unit: Unit of the field [default: ppm, refused where the numbers are unlike it]
%     phase_sign: Sign of the field along B0 beside a paramagnetic source [1 or -1] [default: 1]
%     b0: Strength of B0 [above 0, up to 30, tesla] [default: MagneticFieldStrength of the .json beside the
%     field]
%     te: Echo time in which the field turned the phase, for --method ndi and --data phase [0.1 to 1000, ms]
%     [default: EchoTime of the .json beside the field]
%     b0_dir: Direction of B0 in scanner axes [any] [default: 0 0 1]
%     b0_dir_vox: Direction of B0 in voxel axes [any]
%     dqsm_files: FIELD, --mask and --v1 are files of the original dQSM program (deltab.bin, mask.bin,
%     models.bin), in tesla and with B0; also writes chi.bin
%     method: How the map is made [default: dtv]
%     compat: Whose numerics to follow
%     fa_threshold: FA above which a voxel has a fibre [0 to 1] [default: 0.2]
%     kappa: Share κ of the data [above 0, up to 1] [default: 0.985; 0.95 in a run, for its noisier fields;
%     0.75 with --compat dqsm]
%     solver: Which iteration [default: cgls; landweber with --compat dqsm]
%     step: Step of --solver landweber; one that would diverge is made smaller [above 0] [default: a safe
%     one; 0.15 with --compat dqsm]
%     products: How products are made; both are exact [default: fast]
%     edges: What lies beyond the mask, for the penalty [default: free; zero with --compat dqsm]
%     outside: What is outside the mask, for the field [default: sources]
%     data: What is explained [default: field]
%     support: Voxels that a source reaches along each axis [from 1 on] [default: all; 50 with --compat
%     dqsm]
%     start: Where the iteration starts [default: zero]
%     iterations: Iterations at most [from 1 on] [default: 100; 200 of ndi; 50 of each part of ilsqr; 1000
%     of dqsm and tensor, 20 in a run, for its noisier fields]
%     tolerance: Stop where the map changes by no more than this part of itself [from 0 on] [default: 2e-3;
%     1e-3 of ndi; 1e-6 of dqsm and tensor]
%     gradient_tolerance: Stop where the gradient is no more than this part of its first [from 0 on]
%     [default: 1e-6; 1e-2 of ilsqr]
%     noise: Stop where the field is explained to this noise (after weights) [above 0, ppm]
%     strength: λ of dtv, tv, tgv, medi, ndi and tikhonov, threshold of tkd, δ of rts, |D| below which ilsqr
%     looks for streaks [above 0] [default: 2e-4; 1e-3 of ndi, 0.15 of tkd and rts, 0.01 of tikhonov, 0.1 of
%     ilsqr]
%     zero_mean: Make the mean over the mask zero
%     reference: Make the mean over these voxels zero instead: a 3-D image on the same grid, inside where
%     above zero
%     output: Folder to write
%     force: Overwrite existing outputs
%     resume: Go on from what the same command left in OUT/.resume when it was interrupted: to the same
%     bits, or (life) to weights as good with another fingerprint in run.json; keep what it finished
%     checkpoint: Time between checkpoints, which --resume goes on from [from 0 on, s] [default: 60]
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
%     chi: magnetic susceptibility (SI), ppm, relative to the reference [ppm]
%     msa: with --method tensor: anisotropy of the susceptibility tensor, along the fibre less across it,
%     ppm [ppm]
%     residual: field of the map, as the method has it and before a reference is taken off, less the field
%     given, ppm; 0 where that has no weight [ppm]
%     iterations_tsv: of all methods but tkd and tikhonov: iteration, rms of the map (ppm), relative change,
%     and after it the data term ‖Ax - b‖² and of dqsm, tensor and ndi the penalty and the relative
%     gradient, of the others the variation that costs; of ilsqr the relative gradient alone, first of the
%     map, then of its streaks
%     metrics_json: with --truth: NRMSE, detrended NRMSE, HFEN (%), XSIM, correlation, slope
%     chi_bin: with --dqsm-files: the map (not ppm), bare float32 in that program's order; its x_iter files
%     are neither written nor read
%     run_json: inputs with hashes, parameters in effect, machine, times, counts, warnings; of the iteration
%     kappa and step (in units of B0), iterations, and why it stopped
%     resume: until the run is done: where --resume goes on, with the same result
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'field', '', ','
    'mask', '--mask', ','
    'dti', '--dti', ','
    'v1', '--v1', ','
    'fa', '--fa', ','
    'v1_frame', '--v1-frame', ','
    'resample', '--resample', 'flag'
    'weights', '--weights', ','
    'magnitude', '--magnitude', ','
    'two_pass', '--two-pass', ','
    'truth', '--truth', ','
    'field_unit', '--field-unit', ','
    'phase_sign', '--phase-sign', ','
    'b0', '--b0', ','
    'te', '--te', ','
    'b0_dir', '--b0-dir', ' '
    'b0_dir_vox', '--b0-dir-vox', ' '
    'dqsm_files', '--dqsm-files', 'flag'
    'method', '--method', ','
    'compat', '--compat', ','
    'fa_threshold', '--fa-threshold', ','
    'kappa', '--kappa', ','
    'solver', '--solver', ','
    'step', '--step', ','
    'products', '--products', ','
    'edges', '--edges', ','
    'outside', '--outside', ','
    'data', '--data', ','
    'support', '--support', ','
    'start', '--start', ','
    'iterations', '--iterations', ','
    'tolerance', '--tolerance', ','
    'gradient_tolerance', '--gradient-tolerance', ','
    'noise', '--noise', ','
    'strength', '--strength', ','
    'zero_mean', '--zero-mean', 'flag'
    'reference', '--reference', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'resume', '--resume', 'flag'
    'checkpoint', '--checkpoint', ','
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
    'chi', {'chi.{image}'}, false
    'msa', {'msa.{image}'}, false
    'residual', {'residual.{image}'}, false
    'iterations_tsv', {'iterations.tsv'}, false
    'metrics_json', {'metrics.json'}, false
    'chi_bin', {'chi.bin'}, false
    'run_json', {'run.json'}, false
    'resume', {'.resume'}, false
  };
  files = fimbria.internal.run('qsm', options, written, 'output', 'qsm', false, varargin);
end
