//! Straight-line kernel text for the transforms of a few elements that longer ones are made of.

use std::f64::consts::TAU;
use std::fmt::Write as _;

/// Names of the variables that hold a complex number's parts.
#[derive(Clone)]
struct Value {
    re: String,
    im: String,
}

/// Text that transforms the variables `x0r`, `x0i`, `x1r` … of `n` complex numbers forward, and
/// the names (real, imaginary) of the results.
pub(super) fn codelet(n: usize) -> (String, Vec<(String, String)>) {
    let mut writer = Writer { text: String::new(), variables: 0 };
    let inputs: Vec<Value> =
        (0..n).map(|j| Value { re: format!("x{j}r"), im: format!("x{j}i") }).collect();
    let outputs = writer.transform(&inputs);
    (writer.text, outputs.into_iter().map(|value| (value.re, value.im)).collect())
}

struct Writer {
    text: String,
    variables: usize,
}

impl Writer {
    /// A new variable with the value of `expression`.
    fn let_(&mut self, expression: &str) -> String {
        let name = format!("t{}", self.variables);
        self.variables += 1;
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "    f32 {name} = {expression};");
        name
    }

    fn plus(&mut self, a: &Value, b: &Value) -> Value {
        let re = self.let_(&format!("{} + {}", a.re, b.re));
        let im = self.let_(&format!("{} + {}", a.im, b.im));
        Value { re, im }
    }

    fn minus(&mut self, a: &Value, b: &Value) -> Value {
        let re = self.let_(&format!("{} - {}", a.re, b.re));
        let im = self.let_(&format!("{} - {}", a.im, b.im));
        Value { re, im }
    }

    /// a + i b and a - i b.
    fn plus_minus_i(&mut self, a: &Value, b: &Value) -> [Value; 2] {
        let plus = Value {
            re: self.let_(&format!("{} - {}", a.re, b.im)),
            im: self.let_(&format!("{} + {}", a.im, b.re)),
        };
        let minus = Value {
            re: self.let_(&format!("{} + {}", a.re, b.im)),
            im: self.let_(&format!("{} - {}", a.im, b.re)),
        };
        [plus, minus]
    }

    /// a + c b, for a real c.
    fn plus_scaled(&mut self, a: &Value, c: f64, b: &Value) -> Value {
        let c = literal(c);
        let re = self.let_(&format!("FMA({c}, {}, {})", b.re, a.re));
        let im = self.let_(&format!("FMA({c}, {}, {})", b.im, a.im));
        Value { re, im }
    }

    /// a exp(-2πi k/n).
    fn turned(&mut self, a: &Value, k: usize, n: usize) -> Value {
        if k.is_multiple_of(n) {
            return a.clone();
        }
        let angle = -TAU * k as f64 / n as f64;
        let (sin, cos) = angle.sin_cos();
        if (4 * k).is_multiple_of(n) {
            // A quarter turn is exact: sin and cos are 0 and ±1.
            let (re, im) = match (cos.round() as i32, sin.round() as i32) {
                (-1, _) => (format!("-{}", a.re), format!("-{}", a.im)),
                (_, 1) => (format!("-{}", a.im), a.re.clone()),
                _ => (a.im.clone(), format!("-{}", a.re)),
            };
            return Value { re: self.let_(&re), im: self.let_(&im) };
        }
        let (cos, sin) = (literal(cos), literal(sin));
        let re = self.let_(&format!("FMA({}, {cos}, -({} * {sin}))", a.re, a.im));
        let im = self.let_(&format!("FMA({}, {sin}, {} * {cos})", a.re, a.im));
        Value { re, im }
    }

    fn transform(&mut self, x: &[Value]) -> Vec<Value> {
        match x.len() {
            0 | 1 => x.to_vec(),
            2 => vec![self.plus(&x[0], &x[1]), self.minus(&x[0], &x[1])],
            4 => self.four(x),
            n => match (2..n).find(|p| n.is_multiple_of(*p)) {
                None => self.odd_prime(x),
                // Radix 4 needs no multiplications, two radix 2 do.
                Some(2) if n.is_multiple_of(4) => self.composite(x, 4),
                Some(p) => self.composite(x, p),
            },
        }
    }

    fn four(&mut self, x: &[Value]) -> Vec<Value> {
        let even = [self.plus(&x[0], &x[2]), self.minus(&x[0], &x[2])];
        let odd = self.plus(&x[1], &x[3]);
        let difference = self.minus(&x[3], &x[1]);
        let [first, third] = self.plus_minus_i(&even[1], &difference);
        vec![self.plus(&even[0], &odd), first, self.minus(&even[0], &odd), third]
    }

    /// Pairs x[j] with x[p-j], whose factors are conjugate: sums go with cosines, differences
    /// with sines.
    fn odd_prime(&mut self, x: &[Value]) -> Vec<Value> {
        let p = x.len();
        let half = p / 2;
        let sums: Vec<Value> = (1..=half).map(|j| self.plus(&x[j], &x[p - j])).collect();
        let differences: Vec<Value> = (1..=half).map(|j| self.minus(&x[j], &x[p - j])).collect();
        let mut result = vec![x[0].clone(); p];
        for sum in &sums {
            result[0] = self.plus(&result[0], sum);
        }
        let zero = Value { re: "0.0f".to_owned(), im: "0.0f".to_owned() };
        for k in 1..=half {
            let mut cosines = x[0].clone();
            let mut sines = zero.clone();
            for j in 1..=half {
                let angle = TAU * (j * k % p) as f64 / p as f64;
                cosines = self.plus_scaled(&cosines, angle.cos(), &sums[j - 1]);
                sines = self.plus_scaled(&sines, -angle.sin(), &differences[j - 1]);
            }
            let [first, second] = self.plus_minus_i(&cosines, &sines);
            result[k] = first;
            result[p - k] = second;
        }
        result
    }

    /// n = p q: transforms of every p-th element, turned, and transforms across them (Cooley and
    /// Tukey).
    fn composite(&mut self, x: &[Value], p: usize) -> Vec<Value> {
        let n = x.len();
        let q = n / p;
        let parts: Vec<Vec<Value>> = (0..p)
            .map(|r| {
                let every_pth: Vec<Value> = x[r..].iter().step_by(p).cloned().collect();
                self.transform(&every_pth)
            })
            .collect();
        let mut result = x.to_vec();
        for k in 0..q {
            let across: Vec<Value> = (0..p).map(|r| self.turned(&parts[r][k], r * k, n)).collect();
            for (l, value) in self.transform(&across).into_iter().enumerate() {
                result[k + q * l] = value;
            }
        }
        result
    }
}

/// The nearest f32, exactly.
fn literal(value: f64) -> String {
    format!("({:e}f)", value as f32)
}
