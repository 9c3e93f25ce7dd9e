//! Several tractograms, one after the other.

use crate::{Column, ColumnKind, Group, Header, ReadStreamlines, Streamlines, TractogramError};

/// Tractograms read as one: of their data what all of them have.
///
/// Its header is the first one's, with that data and without groups, as their members' numbers are not
/// known before all is read: [`groups`](Self::groups).
pub struct Joined {
    parts: Vec<Box<dyn ReadStreamlines>>,
    header: Header,
    at: usize,
    /// Streamlines that came of each part.
    counts: Vec<u64>,
    chunk: Streamlines,
}

fn shared(all: &[&[ColumnKind]]) -> Vec<ColumnKind> {
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    let is_shared = |kind: &&ColumnKind| others.iter().all(|kinds| kinds.contains(kind));
    first.iter().filter(is_shared).cloned().collect()
}

impl Joined {
    /// Of one or more.
    ///
    /// # Panics
    /// Without any.
    pub fn new(parts: Vec<Box<dyn ReadStreamlines>>) -> Self {
        let headers: Vec<&Header> = parts.iter().map(|part| part.header()).collect();
        let sum = |of: fn(&Header) -> Option<u64>| headers.iter().map(|header| of(header)).sum();
        let per_point: Vec<_> = headers.iter().map(|header| &header.per_point[..]).collect();
        let per_streamline: Vec<_> = headers.iter().map(|h| &h.per_streamline[..]).collect();
        let header = Header {
            grid: headers.iter().find_map(|header| header.grid),
            n_streamlines: sum(|header| header.n_streamlines),
            n_points: sum(|header| header.n_points),
            per_point: shared(&per_point),
            per_streamline: shared(&per_streamline),
            groups: Vec::new(),
            ..headers[0].clone()
        };
        let counts = vec![0; parts.len()];
        Self { parts, header, at: 0, counts, chunk: Streamlines::default() }
    }

    /// Names of the data that some have and not all, or not of one kind.
    pub fn left_out(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for header in self.parts.iter().map(|part| part.header()) {
            for (kinds, kept) in [
                (&header.per_point, &self.header.per_point),
                (&header.per_streamline, &self.header.per_streamline),
            ] {
                let gone = kinds.iter().filter(|kind| !kept.contains(kind));
                names.extend(gone.map(|kind| kind.name.as_str()));
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// True where any has groups.
    pub fn has_groups(&self) -> bool {
        self.parts.iter().any(|part| !part.header().groups.is_empty())
    }

    /// The groups of all, once all streamlines were read: those of one name are one group, whose data are
    /// the first's.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut before = 0;
        for (part, count) in self.parts.iter().zip(&self.counts) {
            for group in &part.header().groups {
                let members = group.members.iter().map(|member| *member + before as u32);
                match groups.iter_mut().find(|known| known.name == group.name) {
                    Some(known) => known.members.extend(members),
                    None => groups.push(Group { members: members.collect(), ..group.clone() }),
                }
            }
            before += count;
        }
        groups
    }
}

impl ReadStreamlines for Joined {
    fn header(&self) -> &Header {
        &self.header
    }

    fn next_chunk(
        &mut self,
        chunk: &mut Streamlines,
        at_least: usize,
    ) -> Result<bool, TractogramError> {
        while let Some(part) = self.parts.get_mut(self.at) {
            let is_whole = part.header().per_point == self.header.per_point
                && part.header().per_streamline == self.header.per_streamline;
            let into = if is_whole { &mut *chunk } else { &mut self.chunk };
            if !part.next_chunk(into, at_least)? {
                self.at += 1;
                continue;
            }
            self.counts[self.at] += into.len() as u64;
            if !is_whole {
                let all = std::mem::take(&mut self.chunk);
                let (offsets, positions, per_point, per_streamline) = all.into_parts();
                *chunk = Streamlines::from_parts(offsets, positions);
                let taken = |kinds: &[ColumnKind], columns: Vec<Column>| -> Vec<Column> {
                    let of = |kind: &ColumnKind| {
                        columns.iter().find(|column| column.kind == *kind).cloned()
                    };
                    kinds.iter().filter_map(of).collect()
                };
                for column in taken(&self.header.per_point, per_point) {
                    chunk.add_per_point(column);
                }
                for column in taken(&self.header.per_streamline, per_streamline) {
                    chunk.add_per_streamline(column);
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn doubts(&self) -> Vec<String> {
        self.parts.iter().flat_map(|part| part.doubts()).collect()
    }
}
