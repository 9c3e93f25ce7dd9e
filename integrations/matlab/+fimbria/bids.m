function files = bids(varargin)
%BIDS  Run all stages over every subject of a BIDS data set, and write derivatives.
%   FILES = FIMBRIA.BIDS(INPUT, OUT, LEVEL, NAME, VALUE, ...)
%
%   FILES says where each file is that was written. A list is a cell array or a vector.
%
%   Given:
%     input: The data set: raw, or derivatives as QSIPrep writes them
%     out: Folder of the derivatives
%     level: What is worked on
%
%   Named:
%     participant_label: Subjects, with or without sub- [default: all]
%     session_label: Sessions, with or without ses- [default: all]
%     datasets: Other data sets of the same subjects, in which labels and tissues are looked for too, after
%     those of IN: qsirecon=FOLDER; NAME stands in their URIs
%     atlas: Name of the labels between which streamlines are counted: that of the entity atlas, seg or desc
%     [default: the only ones there are]
%     no_act: Let streamlines end anywhere, although there are tissues beside a series
%     skip_bids_validation: Has no effect: BIDS apps are called with it. `fimbria bids` checks what it
%     reads, and nothing else
%     preset: What is done [default: maps]
%     config: Take what is done from a TOML file, as `fimbria run` does; its `[input]` names no files
%     settings: Set one parameter of a stage, such as dti.method=nlls; may be repeated
%     fix_gradients: Mend the gradient table of each series as its check says, before anything is fitted; a
%     series whose data do not tell fails
%     force: Make finished sessions again
%     report_output_level: Where pages are written [default: root]
%     digest: Print a hash of every file of finished sessions, and one of all: what two sites compare
%     work_dir: Folder where sessions are worked on; what an interruption leaves there is gone on from
%     [default: OUT/.fimbria/work]
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
%     sub: [ses-*/]dwi and anat: maps, densities, peaks, streamlines, matrices, susceptibility, under names
%     of BIDS, with sidecars; run.json, written last
%     sub_html: a page of each session, and one that leads there of a subject with sessions
%     dataset_description_json: what the data set is and is made of
%     bidsignore: what BIDS has no rule for yet
%     README: what is where
%     logs: CITATION.md, .bib and .html: what was done, in words for a paper
%     group_dwi_tsv: group: a row of each series: verdicts on it, medians of maps, share of voxels fitted,
%     volumes used, warnings, what the input says of it
%     group_dwi_json: group: what the columns are, and their units
%     group_dwi_html: group: a dot of each series in a strip of each number, which leads to its page
%
%   Made by generate.py from `fimbria describe`: not to be edited.

  % name, option, what stands between its values
  options = {
    'input', '', ','
    'out', '', ','
    'level', '', ','
    'participant_label', '--participant-label', ' '
    'session_label', '--session-label', ' '
    'datasets', '--datasets', ' '
    'atlas', '--atlas', ','
    'no_act', '--no-act', 'flag'
    'skip_bids_validation', '--skip-bids-validation', 'flag'
    'preset', '--preset', ','
    'config', '--config', ','
    'settings', '--set', 'again'
    'fix_gradients', '--fix-gradients', 'flag'
    'force', '--force', 'flag'
    'report_output_level', '--report-output-level', ','
    'digest', '--digest', 'flag'
    'work_dir', '--work-dir', ','
    'threads', '--threads', ','
    'device', '--device', ','
    'device_memory', '--device-memory', ','
    'quiet', '--quiet', 'flag'
    'verbose', '--verbose', '='
    'memory', '--memory', ','
  };
  % name, patterns, are there many
  written = {
    'sub', {'sub-*'}, true
    'sub_html', {'sub-*.html'}, true
    'dataset_description_json', {'dataset_description.json'}, false
    'bidsignore', {'.bidsignore'}, false
    'README', {'README'}, false
    'logs', {'logs'}, false
    'group_dwi_tsv', {'group_dwi.tsv'}, false
    'group_dwi_json', {'group_dwi.json'}, false
    'group_dwi_html', {'group_dwi.html'}, false
  };
  files = fimbria.internal.run('bids', options, written, 'out', 'bids', false, varargin);
end
