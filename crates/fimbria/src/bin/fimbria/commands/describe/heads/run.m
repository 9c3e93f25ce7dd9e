function files = run(command, options, written, output, default, is_file, given)
%RUN  Runs a command of fimbria and finds what it wrote.
%   The functions of this package call it; see their help.
%
%   The program is `fimbria` on the path of the system, or what the environment variable FIMBRIA names.
%   A command that fails is an error with the identifier fimbria:failed and the program's sentence.

  is_given = strcmp(options(:, 2), '');
  count = sum(is_given);
  if numel(given) < count || mod(numel(given) - count, 2) ~= 0
    error('fimbria:usage', ...
          'fimbria.%s takes %d values, then pairs of a name and a value: help fimbria.%s', ...
          strrep(command, ' ', '_'), count, strrep(command, ' ', '_'));
  end
  % What is written has a name of its own, so that commands need not be told.
  said = struct();
  names = options(is_given, 1);
  for k = 1:count
    said.(names{k}) = given{k};
  end
  for k = count + 1:2:numel(given)
    if ~any(strcmp(given{k}, options(:, 1)))
      error('fimbria:usage', 'fimbria %s has no option %s', command, given{k});
    end
    said.(given{k}) = given{k + 1};
  end
  if ~isfield(said, output) && ~isempty(default)
    said.(output) = default;
  end

  % Positional values stand first: an option may take all words that follow it.
  line = [program() ' ' command];
  for k = [find(is_given)', find(~is_given)']
    if isfield(said, options{k, 1})
      line = [line words(said.(options{k, 1}), options{k, 2}, options{k, 3})]; %#ok<AGROW>
    end
  end
  [status, text] = system([line ' 2>&1']);
  if status ~= 0
    error('fimbria:failed', '%s', strtrim(text));
  end
  if ~isempty(strtrim(text))
    disp(strtrim(text));
  end

  files = struct('written', said.(output));
  for k = 1:size(written, 1)
    hits = found(said.(output), is_file, written{k, 2});
    if ~isempty(hits)
      if ~written{k, 3}
        hits = hits{1};
      end
      files.(written{k, 1}) = hits;
    end
  end
end

function text = program()
  text = getenv('FIMBRIA');
  if isempty(text)
    text = 'fimbria';
  end
  text = quoted(text);
end

function text = words(value, option, between)
%WORDS  An option with its values, as on a command line.
  text = '';
  if strcmp(between, 'flag')
    if value
      text = [' ' option];
    end
    return
  end
  values = each(value);
  if isempty(values)
    return
  end
  lead = '';
  if ~isempty(option)
    lead = [' ' option];
  end
  switch between
    case '='
      text = [lead '=' values{1}];
    case 'again'
      for k = 1:numel(values)
        text = [text lead ' ' quoted(values{k})]; %#ok<AGROW>
      end
    case ' '
      text = lead;
      for k = 1:numel(values)
        text = [text ' ' quoted(values{k})]; %#ok<AGROW>
      end
    otherwise
      joined = sprintf(['%s' between], values{:});
      text = [lead ' ' quoted(joined(1:end - numel(between)))];
  end
end

function list = each(value)
%EACH  Every value as text.
  if ischar(value)
    list = {value};
    if isempty(value)
      list = {};
    end
  elseif iscell(value)
    list = cellfun(@each, value, 'UniformOutput', false);
    list = [list{:}];
  elseif isnumeric(value) || islogical(value)
    list = arrayfun(@(x) sprintf('%.15g', double(x)), value(:)', 'UniformOutput', false);
  else
    list = cellstr(value)';
  end
end

function text = quoted(word)
%QUOTED  A word that the shell takes as it is.
  if ispc()
    text = ['"' strrep(word, '"', '""') '"'];
  else
    text = ['''' strrep(word, '''', '''\''''') ''''];
  end
end

function hits = found(written, is_file, names)
%FOUND  The files of the first of these patterns that has some.
  images = {'nii.gz', 'nii', 'mif', 'mif.gz', 'hdr', 'img', 'img.gz'};
  starts = {[written filesep]};
  if is_file
    stem = regexprep(written, '\.(nii|mif|hdr|img)(\.gz)?$', '');
    starts = {written, stem};
  end
  hits = {};
  for n = 1:numel(names)
    kinds = {''};
    if ~isempty(strfind(names{n}, '{image}')) %#ok<STREMP>
      kinds = images;
    end
    for e = 1:numel(kinds)
      for s = 1:numel(starts)
        pattern = [starts{s} strrep(names{n}, '{image}', kinds{e})];
        if isempty(strfind(pattern, '*')) %#ok<STREMP>
          if exist(pattern, 'file') || exist(pattern, 'dir')
            hits = [hits, {pattern}]; %#ok<AGROW>
          end
        else
          listed = dir(pattern);
          listed = listed(~ismember({listed.name}, {'.', '..'}));
          folder = fileparts(pattern);
          hits = [hits, cellfun(@(name) fullfile(folder, name), {listed.name}, ...
                                'UniformOutput', false)]; %#ok<AGROW>
        end
      end
      if ~isempty(hits)
        return
      end
    end
  end
end
