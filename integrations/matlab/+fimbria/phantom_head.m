function files = phantom_head(varargin)
%PHANTOM_HEAD  A head as in people: folded cortex, nuclei, ventricles, named bundles, skull and air.
%   FILES = FIMBRIA.PHANTOM_HEAD(NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Named:
%     subject: Which head: folds, size and ventricles differ from number to number [from 0 on] [default: 1]
%     voxel: Voxel size in mm [default: 2.5]
%     size: Number of voxels along x, y, z [default: what holds the whole head]
%     tilt: Turns of the grid about scanner x, y, z in degrees [default: 6,-4,3]
%     x_left_to_right: Store x from left to right (det(affine) > 0) instead of right to left
%     b0s: Number of unweighted volumes [from 0 on] [default: 6]
%     shells: Shells, each b in s/mm² and number of directions [default: 1000:30,2000:60]
%     snr: Unweighted white-matter signal over the noise in either channel; inf for no noise [default: 30]
%     rng_seed: Seed of the noise [from 0 on] [default: 1]
%     b_tensor: Shape of the b-tensors: of all shells, or of each [default: linear]
%     motion: The head moves during the series, up to so far from where it was first, and turns by up to as
%     many degrees [0 to 50, mm] [default: 0]
%     dropped_slices: Slices of weighted volumes that lose 60 to 95 % of their signal [from 0 on] [default:
%     0]
%     nonlinearity: Largest deviation of the gradients in the brain, as a fraction [0 to 0.3] [default: 0]
%     samples: Points along each axis at which a voxel on a boundary is sampled [2 to 8] [default: 3]
%     gre: Also a gradient-echo scan; echo times in milliseconds
%     gre_b0: Strength of B0 in that scan; it is along scanner z [above 0, T] [default: 3]
%     gre_voxel: Voxel size of that scan, the same along all axes [above 0, mm] [default: that of the
%     series]
%     gre_snr: White matter's magnitude at echo time 0 over the noise in either channel; inf for no noise
%     [default: 100]
%     bids: Write a BIDS data set in the shape of QSIPrep's derivatives instead, of so many subjects: each
%     has other folds and noise, and the second has two sessions [1 to 9999]
%     broken: Cut the series of its last subject short, as a full disk does
%     output: Folder (or, where the command writes one file, the file) to write
%     force: Overwrite existing outputs
%     format: Format of the images [default: nii.gz]
%     threads: Threads to work with; 0 for one per core. Results do not depend on it [0 to 4096] [default:
%     0]
%     quiet: Say nothing but warnings and errors
%     verbose: Say more; 0 as usual [from 0 on] [default: 0]
%     memory: Memory that the program may take, such as 8G, from 48M on: images that exceed their share, a
%     third, are worked on from disk; where the rest does not fit, that is one error. Pages of files that
%     are read in place do not count: the system takes them back when it needs them [default: no limit]
%
%   Written:
%     dwi: the series [arbitrary]
%     dwi_bval: in all formats but .mif, whose header has it: b of every volume, s/mm²
%     dwi_bvec: likewise: direction of every volume
%     dwi_bshape: with --b-tensor: shape of each volume's b-tensor: 1 linear, -0.5 planar, 0 spherical
%     mask: voxels at least half of which are brain or its fluid
%     t1w: a T1-weighted picture without noise [arbitrary]
%     labels: numbers of labels.txt (uint16), FreeSurfer's where it has them
%     labels_txt: number, name, red, green, blue, 0: a table that FSLeyes and mrview read
%     image_5tt: cortical grey, subcortical grey, white, fluid, none; sum 1 in the mask, 0 outside: what
%     `track --act` and MRtrix3 read
%     truth_tissues: sum 1 everywhere: cortical and subcortical grey, white, fluid, blood, soft, fat, bone,
%     air
%     truth_dirs: x y z of up to four fibres, largest fraction first, 0 = none
%     truth_fractions: their parts of the unweighted signal
%     truth_bundles: numbers of their bundles, as in truth/bundles.txt; or of each bundle the voxels that
%     its streamlines pass
%     truth_ODI: NODDI's index of their dispersion
%     truth_NDI: part of their water that is inside axons
%     truth_FA: of the signal without noise, in closed form, in the mask
%     truth_MD: the same [mm^2/s]
%     truth_MK: the same
%     truth_S0: signal without weighting and noise [arbitrary]
%     truth_coil: sensitivity of the coil
%     truth_PD: proton density, 1 in fluid
%     truth_T1: mean over the voxel's water [s]
%     truth_T2: the same [s]
%     truth_tracts_trx: the streamlines, a group for each bundle
%     truth_bundles_txt: number, name and streamlines of each bundle; the last number is that of fibres of
%     no bundle
%     grad_dev: with --nonlinearity: L of every voxel, column by column, as FSL's: what --grad-dev of the
%     fits reads
%     truth_motion_tsv: with --motion: where the head is in each volume: mm along scanner x, y, z, then
%     radians about them
%     truth_dropped_tsv: with --dropped-slices: volume and slice, from 0, and what is left of the signal
%     gre_phase: with --gre: phase of every echo, wrapped [rad]
%     gre_phase_json: with --gre: echo times and B0
%     gre_magnitude: with --gre: magnitude of every echo [arbitrary]
%     gre_mask: with --gre: voxels that are brain or its fluid alone
%     gre_truth_chi: with --gre: mean of the susceptibility tensor, 0 outside the mask [ppm]
%     gre_truth_local_field: with --gre: field of what is in the mask [ppm]
%     gre_truth_total_field: with --gre: the same with all outside it, shimmed [ppm]
%     gre_truth_fibre: with --gre: direction of the largest fibre, as long as its fraction
%     gre_truth_r2star: with --gre: decay of the magnitude but for that by the field [1/s]
%     gre_truth_phase_offset: with --gre: phase at echo time 0 [rad]
%     gre_truth_labels: with --gre: numbers of labels.txt
%     dataset_description_json: with --bids, in place of all these: what the data set is
%     participants_tsv: with --bids, in place of all these: the number of each head and its noise
%     sub: with --bids, in place of all these: dwi/ as QSIPrep has it: series, its tables, mask, mean
%     unweighted volume, confounds and image_qc, with --nonlinearity graddev; anat/: T1-weighted picture,
%     labels, five tissues, with --gre phase and magnitude of every echo
%     README: with --bids, in place of all these: what is simulated
%     run_json: parameters, machine, times
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'subject', '--subject', ','
    'voxel', '--voxel', ','
    'size', '--size', ','
    'tilt', '--tilt', ','
    'x_left_to_right', '--x-left-to-right', 'flag'
    'b0s', '--b0s', ','
    'shells', '--shells', ','
    'snr', '--snr', ','
    'rng_seed', '--rng-seed', ','
    'b_tensor', '--b-tensor', ','
    'motion', '--motion', ','
    'dropped_slices', '--dropped-slices', ','
    'nonlinearity', '--nonlinearity', ','
    'samples', '--samples', ','
    'gre', '--gre', '='
    'gre_b0', '--gre-b0', ','
    'gre_voxel', '--gre-voxel', ','
    'gre_snr', '--gre-snr', ','
    'bids', '--bids', '='
    'broken', '--broken', 'flag'
    'output', '--output', ','
    'force', '--force', 'flag'
    'format', '--format', ','
    'threads', '--threads', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'dwi', {'dwi.{image}'}, false
    'dwi_bval', {'dwi.bval'}, false
    'dwi_bvec', {'dwi.bvec'}, false
    'dwi_bshape', {'dwi.bshape'}, false
    'mask', {'mask.{image}'}, false
    't1w', {'t1w.{image}'}, false
    'labels', {'labels.{image}'}, false
    'labels_txt', {'labels.txt'}, false
    'image_5tt', {'5tt.{image}'}, false
    'truth_tissues', {'truth/tissues.{image}'}, false
    'truth_dirs', {'truth/dirs.{image}'}, false
    'truth_fractions', {'truth/fractions.{image}'}, false
    'truth_bundles', {'truth/bundles.{image}', 'truth/bundles/*.{image}'}, true
    'truth_ODI', {'truth/ODI.{image}'}, false
    'truth_NDI', {'truth/NDI.{image}'}, false
    'truth_FA', {'truth/FA.{image}'}, false
    'truth_MD', {'truth/MD.{image}'}, false
    'truth_MK', {'truth/MK.{image}'}, false
    'truth_S0', {'truth/S0.{image}'}, false
    'truth_coil', {'truth/coil.{image}'}, false
    'truth_PD', {'truth/PD.{image}'}, false
    'truth_T1', {'truth/T1.{image}'}, false
    'truth_T2', {'truth/T2.{image}'}, false
    'truth_tracts_trx', {'truth/tracts.trx'}, false
    'truth_bundles_txt', {'truth/bundles.txt'}, false
    'grad_dev', {'grad_dev.{image}'}, false
    'truth_motion_tsv', {'truth/motion.tsv'}, false
    'truth_dropped_tsv', {'truth/dropped.tsv'}, false
    'gre_phase', {'gre/phase.{image}'}, false
    'gre_phase_json', {'gre/phase.json'}, false
    'gre_magnitude', {'gre/magnitude.{image}'}, false
    'gre_mask', {'gre/mask.{image}'}, false
    'gre_truth_chi', {'gre/truth/chi.{image}'}, false
    'gre_truth_local_field', {'gre/truth/local_field.{image}'}, false
    'gre_truth_total_field', {'gre/truth/total_field.{image}'}, false
    'gre_truth_fibre', {'gre/truth/fibre.{image}'}, false
    'gre_truth_r2star', {'gre/truth/r2star.{image}'}, false
    'gre_truth_phase_offset', {'gre/truth/phase_offset.{image}'}, false
    'gre_truth_labels', {'gre/truth/labels.{image}'}, false
    'dataset_description_json', {'dataset_description.json'}, false
    'participants_tsv', {'participants.tsv'}, false
    'sub', {'sub-*'}, true
    'README', {'README'}, false
    'run_json', {'run.json'}, false
  };
  files = fimbria.internal.run('phantom head', options, written, 'output', 'head', false, varargin);
end
