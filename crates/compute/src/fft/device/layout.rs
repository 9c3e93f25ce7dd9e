//! How lines are laid out in a group's memory, and the text that transforms them there.

use std::fmt::Write as _;

use super::Limits;
use super::radices::radices;
use crate::device::KernelSource;
use crate::fft::Complex32;
use crate::fft::codelet::codelet;

/// Lines that are read together where they stand side by side: at least 32 bytes of each row, what memory
/// gives at once.
const LEAST_SIDE_BY_SIDE: usize = 4;
/// Memory that a group takes unless its lines need more: several groups have room in any card's multiprocessor.
const COMFORTABLE: usize = 40 << 10;
/// Elements that a group transforms: side by side, and in lines of which each is contiguous, where more would
/// not be read better.
const MOST_ELEMENTS: [usize; 2] = [4096, 1024];
/// Largest group.
const MOST_ITEMS: usize = 512;
/// Smaller groups, where there is work for as many, would leave multiprocessors idle: memory bounds how many
/// groups they have.
const LEAST_ITEMS: usize = 128;

/// How a group transforms lines of one length in its own memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    length: usize,
    /// Each a stage: what one item reads, transforms in registers and writes, several times for a long line.
    radices: Vec<usize>,
    /// Lines of a group.
    pub(super) lines: usize,
    /// Items of a group.
    pub(super) group: usize,
    /// Whether each line is contiguous in memory; else neighbouring lines stand side by side.
    contiguous: bool,
    /// Whether lines go through the group's memory before the first stage, or after the last.
    buffers: usize,
}

/// What is around the stages: they read what `LOAD(i, line)` gives, its imaginary part times `sign`, and hand
/// element i of a line to `SAVE(i, line, re, im)`.
pub(super) struct Around {
    /// 1 where what is loaded comes from the group's memory.
    pub(super) after: usize,
    /// Before the imaginary part.
    pub(super) sign: &'static str,
}

impl Layout {
    /// Of lines of `length`, `side_by_side` of them or, contiguous, 0; `more` times through the group's memory
    /// beside the way between two stages. `None` where too little of it is there.
    pub(super) fn new(
        length: usize,
        side_by_side: usize,
        more: usize,
        limits: Limits,
    ) -> Option<Self> {
        let contiguous = side_by_side == 0;
        let mut radices = radices(length);
        if radices.is_empty() {
            radices.push(1);
        }
        let buffers = (radices.len() - 1 + more).min(2);
        let of =
            |lines| Self { length, radices: radices.clone(), lines, group: 1, contiguous, buffers };
        let (least, most) = match contiguous {
            true => (1, usize::MAX),
            false => (LEAST_SIDE_BY_SIDE, side_by_side.next_power_of_two()),
        };
        let mut lines = least.min(most);
        if limits.items < 2 || of(lines).bytes() > limits.bytes {
            return None;
        }
        let elements = MOST_ELEMENTS[usize::from(contiguous)];
        let comfortable = COMFORTABLE.min(limits.bytes);
        while 2 * lines <= most
            && 2 * lines * length <= elements
            && of(2 * lines).bytes() <= comfortable
        {
            lines *= 2;
        }
        let mut layout = of(lines);
        layout.group = layout.fitting_group(limits.items);
        Some(layout)
    }

    /// The multiple of 32 items that are idle least, of those large enough.
    fn fitting_group(&self, most: usize) -> usize {
        let work = |group: &usize| -> usize {
            let rounds = |radix: usize| (self.length / radix * self.lines).div_ceil(*group);
            self.radices.iter().map(|&radix| rounds(radix) * group * radix).sum()
        };
        let most = most.min(MOST_ITEMS);
        let busy = self.radices.iter().map(|radix| self.length / radix * self.lines).max();
        let least = busy.unwrap_or(1).min(LEAST_ITEMS).div_ceil(32).min(most / 32).max(1);
        // The largest of those, since `min_by_key` takes the first.
        (least..=most / 32).rev().map(|warps| 32 * warps).min_by_key(work).unwrap_or(most)
    }

    /// Elements from one line to the next in the group's memory. Elements a power of two apart would share a
    /// bank of it; one more after each 16 parts them.
    fn pitch(&self) -> usize {
        self.length + self.length / 16 + 1
    }

    /// Elements of one buffer.
    fn elements(&self) -> usize {
        self.lines * if self.contiguous { self.pitch() } else { self.length }
    }

    /// Memory of a group.
    fn bytes(&self) -> usize {
        self.buffers * self.elements() * size_of::<Complex32>()
    }

    /// A kernel text after the constants of this layout.
    pub(super) fn source(&self, name: &str, text: &str) -> KernelSource {
        let place = match self.contiguous {
            true => "((i) + (i) / 16u + (line) * PITCH)",
            false => "((i) * LINES + (line))",
        };
        KernelSource::new(format!("fft {name} of {}", self.length), text)
            .with("LENGTH", format_args!("{}u", self.length))
            .with("LINES", format_args!("{}u", self.lines))
            .with("GROUP", self.group)
            .with("PITCH", format_args!("{}u", self.pitch()))
            .with("PLACE(i, line)", place)
    }

    /// Declares the group's memory.
    pub(super) fn memory(&self) -> String {
        let elements = self.elements();
        BUFFERS[..self.buffers].iter().fold(String::new(), |mut text, name| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "    LOCAL f32x2 {name}[{elements}];");
            text
        })
    }

    /// Where lines are after the last stage, if it leaves them in the group's memory.
    pub(super) fn last_buffer(&self) -> &'static str {
        BUFFERS[(self.radices.len() + 1) % 2]
    }

    /// All stages.
    pub(super) fn stages(&self, around: &Around) -> String {
        let (mut text, mut done) = (String::new(), 1);
        for (stage, &radix) in self.radices.iter().enumerate() {
            if stage > 0 {
                text.push_str("    BARRIER();\n");
            }
            self.stage(&mut text, (stage, radix, done), around);
            done *= radix;
        }
        text
    }

    /// One stage: item b of a line stands at p among those that share their turns' spacing.
    fn stage(
        &self,
        text: &mut String,
        (stage, radix, done): (usize, usize, usize),
        around: &Around,
    ) {
        let of_line = self.length / radix;
        let (is_first, is_last) = (stage == 0, stage + 1 == self.radices.len());
        let [from, to] = [stage + 1, stage].map(|at| BUFFERS[(at + around.after) % 2]);
        let (items, group) = (of_line * self.lines, self.group);
        // Writing to a String cannot fail.
        let _ = match items {
            _ if items <= group => writeln!(text, "    if (me < {items}u) {{ u32 item = me;"),
            _ => writeln!(
                text,
                "    ROLLED\n    for (u32 item = me; item < {items}u; item += GROUP) {{"
            ),
        };
        let (line, b) = match self.contiguous {
            true => (format!("item / {of_line}u"), format!("item % {of_line}u")),
            false => ("item % LINES".to_owned(), "item / LINES".to_owned()),
        };
        let _ = writeln!(text, "    u32 line = {line}, b = {b};\n    if (IS_LINE(line)) {{");
        for j in 0..radix {
            let i = format!("b + {}u", j * of_line);
            let _ = match is_first {
                true => writeln!(text, "    f32x2 x{j} = LOAD({i}, line);"),
                false => writeln!(text, "    f32x2 x{j} = {from}[PLACE({i}, line)];"),
            };
            let sign = if is_first { around.sign } else { "" };
            let _ = writeln!(text, "    f32 x{j}r = x{j}.x, x{j}i = {sign}x{j}.y;");
        }
        let (transform, results) = codelet(radix);
        text.push_str(&transform);
        // In the last stage nothing is turned.
        let is_turned = of_line > done;
        if is_turned {
            let first = format!("p * {}u + (b - p * {done}u)", radix * done);
            let _ = writeln!(text, "    u32 p = b / {done}u, first = {first};");
        } else {
            text.push_str("    u32 first = b;\n");
        }
        for (k, (re, im)) in results.iter().enumerate() {
            let i = format!("first + {}u", k * done);
            let (mut re, mut im) = (re.clone(), im.clone());
            if is_turned && k > 0 {
                let _ = writeln!(text, "    f32x2 w{k} = turns[p * {}u];", k * done);
                let turned = [
                    format!("FMA({re}, w{k}.x, -({im} * w{k}.y))"),
                    format!("FMA({re}, w{k}.y, {im} * w{k}.x)"),
                ];
                let _ = writeln!(text, "    f32 y{k}r = {}, y{k}i = {};", turned[0], turned[1]);
                (re, im) = (format!("y{k}r"), format!("y{k}i"));
            }
            let _ = match is_last {
                true => writeln!(text, "    SAVE({i}, line, {re}, {im});"),
                false => writeln!(text, "    {to}[PLACE({i}, line)] = F32X2({re}, {im});"),
            };
        }
        text.push_str("    }}\n");
    }
}

/// A stage reads one and writes the other.
const BUFFERS: [&str; 2] = ["even", "odd"];

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: Limits = Limits::CARD;

    #[test]
    fn rows_of_128_bytes_are_read_where_they_fit() {
        let lines =
            |n| Layout::new(n, 1 << 16, 0, CARD).map(|layout| (layout.lines, layout.bytes()));
        // Two stages: one buffer; three: two of them.
        assert_eq!(lines(240), Some((16, 16 * 240 * 8)));
        assert_eq!(lines(256), Some((16, 16 * 256 * 8)));
        assert_eq!(lines(320), Some((8, 2 * 8 * 320 * 8)));
        assert_eq!(lines(512), Some((4, 2 * 4 * 512 * 8)));
        assert_eq!(lines(768), Some((4, 48 << 10)));
        assert_eq!(lines(800), None);
    }

    #[test]
    fn no_more_lines_are_taken_than_stand_side_by_side() {
        assert_eq!(Layout::new(16, 3, 0, CARD).unwrap().lines, 4);
        assert_eq!(Layout::new(16, 2, 0, CARD).unwrap().lines, 2);
        assert_eq!(Layout::new(16, 1 << 10, 0, CARD).unwrap().lines, 256);
    }

    #[test]
    fn groups_have_the_items_that_are_busy() {
        // 15 and 16 times 16, and 40, 40 and 64 times 8.
        assert_eq!(Layout::new(240, 1 << 16, 0, CARD).unwrap().group, 256);
        let of_320 = Layout::new(320, 1 << 16, 0, CARD).unwrap();
        assert_eq!((of_320.radices.clone(), of_320.group), (vec![8, 8, 5], 320));
        let few = Limits { items: 48, ..CARD };
        assert_eq!(Layout::new(240, 1 << 16, 0, few).unwrap().group, 32);
    }

    /// Where checks look for a barrier after a loop over several lines.
    #[test]
    fn items_of_a_small_group_have_several_turns_at_several_lines() {
        let layout = Layout::new(28, 64, 0, Limits::SMALL).unwrap();
        assert_eq!((layout.radices.clone(), layout.lines, layout.group), (vec![7, 4], 32, 32));
        let around = Around { after: 0, sign: "" };
        let text = layout.stages(&around);
        assert!(text.contains("ROLLED") && text.contains("BARRIER();"), "{text}");
    }

    #[test]
    fn a_device_without_memory_for_groups_has_no_lines() {
        assert_eq!(Layout::new(240, 0, 0, Limits::NONE), None);
        assert_eq!(Layout::new(16, 0, 0, Limits::NONE), None);
    }
}
