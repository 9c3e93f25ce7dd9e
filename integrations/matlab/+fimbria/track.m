function files = track(varargin)
%TRACK  Track fibres through samples of directions, peaks or functions on the sphere.
%   FILES = FIMBRIA.TRACK(DIRECTIONS, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     directions: A bedpostX folder or base name of samples (FOLDER/merged); an image of peaks or of V1
%     (three volumes per direction, or as DIPY writes them); an image of spherical harmonics that says that
%     it is one; with --sh-basis or --hot any image of coefficients
%
%   Named:
%     sh_basis: Volumes are spherical harmonics of this basis [default: what the image says of itself]
%     peaks: Volumes are directions, three to each, whatever the image says or looks like
%     hot: Volumes are unique entries of a higher-order tensor (fit fod)
%     frame: Axes of peaks or coefficients [default: what the image says of itself (FSL's V1 and dyads are
%     in FSL's), else scanner; voxel with a basis of DIPY]
%     dispersion: Scatter directions around peaks by this angle; 0 tracks deterministically [from 0 on,
%     degrees] [default: 0]
%     mask: Voxels to track in [default: those that have directions; nodif_brain_mask of a folder]
%     seeds: Where to start: voxels of an image, vertices of a surface (.gii), or points of a list (.txt),
%     rows of x y z; given several times, several regions
%     include: Where streamlines must pass; given several times, all of them
%     include_any: One of those is enough
%     in_order: In the order given
%     exclude: Where streamlines must not pass
%     stop: Where streamlines end
%     target: Count for each seed the streamlines that reach this
%     network: Keep only what joins two of the seed regions, and count pairs
%     act: Tissues that say where streamlines may end: five volumes (cortical grey, subcortical grey, white,
%     fluid, other), as `phantom head` and 5ttgen write them, or labels of FreeSurfer, SynthSeg or FAST; any
%     grid in the same scanner space
%     backtrack: Take streamlines that end wrongly back some steps and let them go on another way
%     crop: Cut ends in grey matter off at its boundary with white matter
%     seed_boundary: Start on that boundary, in the voxels of --seeds (in a run: with densities) that it
%     passes, and go into white matter
%     samples: Streamlines from each seed [1 to 1000000000] [default: 50; in a run 2; through densities
%     --select, in a run with life 2]
%     select: Through densities: start at seeds drawn at random until so many streamlines are kept, or a
%     thousand times as many were started [1 to 100000000] [default: 10000 through densities]
%     seeds_by: Through densities: how the seeds to start at are drawn [default: equal]
%     algorithm: Through densities: which way to go on [default: probabilistic]
%     step: Length of a step [above 0, mm] [default: 0.5, in a run a quarter of the shortest voxel edge;
%     through densities half of it, deterministic a fifth, transport a tenth]
%     max_length: Longest streamline [above 0, mm] [default: 1000; through densities and in a run 250]
%     min_length: Shortest streamline kept [from 0 on, mm] [default: 0, in a run 20; through densities 10]
%     angle: Largest angle between two steps [0 to 180, degrees] [default: 78.46304; through densities 45,
%     transport 6]
%     cutoff: Through densities: end where the density is below this, in its units [above 0] [default: 0.15;
%     deterministic or with --act 0.1]
%     power: Through densities: the power to which the mean of the densities along an arc or a probe is
%     raised [above 0] [default: 1]
%     probe: Transport: how far densities are looked at ahead [above 0, mm] [default: half the shortest
%     voxel edge]
%     fibre_threshold: Fibres with a fraction (of peaks: length as part of the longest) up to this are not
%     followed [0 to 1] [default: 0.01; in a run 0.05]
%     use_fraction: End with probability 1 - f at each step
%     modified_euler: Average each direction with that one step ahead
%     loop_check: End streamlines that come back on themselves
%     first_fibre: The fibre to start with [default: largest; in a run proportional]
%     jitter: Start anywhere in a sphere of this radius [from 0 on, mm] [default: 0, in a run half the
%     longest voxel edge; through densities anywhere in the voxel]
%     rng_seed: Seed of the random numbers [from 0 on] [default: 1]
%     tracks: Format of the streamlines; none writes only maps and matrices [default: trx]
%     output: Folder (or, where the command writes one file, the file) to write
%     force: Overwrite existing outputs
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
%     tracks: streamlines (.trx, or .tck, .trk), with seed (index of the seed voxel, x fastest, x counted as
%     FSL does; number of a vertex or point), region, sample, seed_point (which point is the seed),
%     end_first and end_last (why it ends there); not in .tck
%     visits: streamlines through each voxel, each counted once
%     waytotal: streamlines kept, a line for each seed region
%     seeds_to: with --target: streamlines of each seed voxel that reach the target
%     seeds_to_gii: with --target: the same of the vertices of a surface
%     seeds_to_txt: with --target: the same of points
%     matrix_network_tsv: with --network: streamlines from region (row) to region (column)
%     run_json: inputs with hashes, parameters, machine, times, how many halves ended and why
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'directions', '', ','
    'sh_basis', '--sh-basis', ','
    'peaks', '--peaks', 'flag'
    'hot', '--hot', 'flag'
    'frame', '--frame', ','
    'dispersion', '--dispersion', ','
    'mask', '--mask', ','
    'seeds', '--seeds', 'again'
    'include', '--include', 'again'
    'include_any', '--include-any', 'flag'
    'in_order', '--in-order', 'flag'
    'exclude', '--exclude', 'again'
    'stop', '--stop', 'again'
    'target', '--target', 'again'
    'network', '--network', 'flag'
    'act', '--act', ','
    'backtrack', '--backtrack', 'flag'
    'crop', '--crop', 'flag'
    'seed_boundary', '--seed-boundary', 'flag'
    'samples', '--samples', ','
    'select', '--select', ','
    'seeds_by', '--seeds-by', ','
    'algorithm', '--algorithm', ','
    'step', '--step', ','
    'max_length', '--max-length', ','
    'min_length', '--min-length', ','
    'angle', '--angle', ','
    'cutoff', '--cutoff', ','
    'power', '--power', ','
    'probe', '--probe', ','
    'fibre_threshold', '--fibre-threshold', ','
    'use_fraction', '--use-fraction', 'flag'
    'modified_euler', '--modified-euler', 'flag'
    'loop_check', '--loop-check', 'flag'
    'first_fibre', '--first-fibre', ','
    'jitter', '--jitter', ','
    'rng_seed', '--rng-seed', ','
    'tracks', '--tracks', ','
    'output', '--output', ','
    'force', '--force', 'flag'
    'threads', '--threads', ','
    'device', '--device', ','
    'device_memory', '--device-memory', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'tracks', {'tracks.*'}, false
    'visits', {'visits.{image}'}, false
    'waytotal', {'waytotal'}, false
    'seeds_to', {'seeds_*to_*.{image}'}, true
    'seeds_to_gii', {'seeds_*to_*.gii'}, true
    'seeds_to_txt', {'seeds_*to_*.txt'}, true
    'matrix_network_tsv', {'matrix_network.tsv'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('track', options, written, 'output', 'track', false, varargin);
end
