//! Making nodes: constants are folded and neutral elements dropped, nothing is reassociated.
//!
//! What is left out would have given the same bits for finite numbers, save for the sign of zero.
//! (Zero times infinity or NaN counts as zero.)

use super::graph::{Binary, Graph, Node, Operation, Unary};

impl Unary {
    /// Of one f64.
    pub(super) fn apply(self, x: f64) -> f64 {
        match self {
            Self::Neg => -x,
            Self::Exp => x.exp(),
            Self::Ln => x.ln(),
            Self::Sqrt => x.sqrt(),
            Self::Abs => x.abs(),
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::Atan => x.atan(),
        }
    }
}

impl Binary {
    /// Of two f64.
    pub(super) fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
            Self::Div => a / b,
            Self::Min => {
                if a < b {
                    a
                } else {
                    b
                }
            }
            Self::Max => {
                if a > b {
                    a
                } else {
                    b
                }
            }
        }
    }

    fn commutes(self) -> bool {
        matches!(self, Self::Add | Self::Mul)
    }
}

impl Graph {
    /// A function of one node.
    pub fn unary(&mut self, function: Unary, a: Node) -> Node {
        if let Some(value) = self.constant_of(a) {
            return self.constant(function.apply(value));
        }
        match (function, self.operation(a)) {
            (Unary::Neg, Operation::Unary(Unary::Neg, inner)) => inner,
            (Unary::Abs, Operation::Unary(Unary::Neg, inner)) => self.unary(Unary::Abs, inner),
            (Unary::Abs, Operation::Unary(Unary::Abs | Unary::Exp | Unary::Sqrt, _)) => a,
            _ => self.intern(Operation::Unary(function, a)),
        }
    }

    /// A function of two nodes.
    pub fn binary(&mut self, function: Binary, a: Node, b: Node) -> Node {
        let constants = (self.constant_of(a), self.constant_of(b));
        if let (Some(x), Some(y)) = constants {
            return self.constant(function.apply(x, y));
        }
        match (function, constants.0, constants.1) {
            (Binary::Add, Some(0.0), _) => return b,
            (Binary::Add | Binary::Sub, _, Some(0.0)) => return a,
            (Binary::Sub, Some(0.0), _) => return self.neg(b),
            (Binary::Mul, Some(0.0), _) | (Binary::Mul, _, Some(0.0)) => return self.constant(0.0),
            (Binary::Div, Some(0.0), _) => return self.constant(0.0),
            (Binary::Mul, Some(1.0), _) => return b,
            (Binary::Mul | Binary::Div, _, Some(1.0)) => return a,
            (Binary::Mul, Some(-1.0), _) => return self.neg(b),
            (Binary::Mul | Binary::Div, _, Some(-1.0)) => return self.neg(a),
            _ => {}
        }
        let swapped = Operation::Binary(function, b, a);
        self.known_as(swapped)
            .filter(|_| function.commutes())
            .unwrap_or_else(|| self.intern(Operation::Binary(function, a, b)))
    }

    /// a + b
    pub fn add(&mut self, a: Node, b: Node) -> Node {
        self.binary(Binary::Add, a, b)
    }

    /// a - b
    pub fn sub(&mut self, a: Node, b: Node) -> Node {
        self.binary(Binary::Sub, a, b)
    }

    /// a b
    pub fn mul(&mut self, a: Node, b: Node) -> Node {
        self.binary(Binary::Mul, a, b)
    }

    /// a / b
    pub fn div(&mut self, a: Node, b: Node) -> Node {
        self.binary(Binary::Div, a, b)
    }

    /// -a
    pub fn neg(&mut self, a: Node) -> Node {
        self.unary(Unary::Neg, a)
    }

    /// `a b + c`, rounded once.
    pub fn mul_add(&mut self, a: Node, b: Node, c: Node) -> Node {
        if let Some(sum) = self.without_fusing(Binary::Add, a, b, c) {
            return sum;
        }
        self.known_as(Operation::MulAdd(b, a, c))
            .unwrap_or_else(|| self.intern(Operation::MulAdd(a, b, c)))
    }

    /// `c - a b`, rounded once.
    pub fn neg_mul_add(&mut self, a: Node, b: Node, c: Node) -> Node {
        if let Some(difference) = self.without_fusing(Binary::Sub, a, b, c) {
            return difference;
        }
        self.known_as(Operation::NegMulAdd(b, a, c))
            .unwrap_or_else(|| self.intern(Operation::NegMulAdd(a, b, c)))
    }

    /// `c ± a b` where nothing is left to fuse: one rounding either way.
    fn without_fusing(&mut self, sign: Binary, a: Node, b: Node, c: Node) -> Option<Node> {
        let constants = [a, b].map(|node| self.constant_of(node));
        let exact = constants.iter().flatten().any(|x| [0.0, 1.0, -1.0].contains(x));
        let folds = constants.iter().all(Option::is_some);
        if exact || folds || self.constant_of(c) == Some(0.0) {
            let product = self.mul(a, b);
            return Some(self.binary(sign, c, product));
        }
        None
    }

    /// `a < b ? yes : no`
    pub fn if_less(&mut self, a: Node, b: Node, yes: Node, no: Node) -> Node {
        if yes == no {
            return yes;
        }
        if let (Some(x), Some(y)) = (self.constant_of(a), self.constant_of(b)) {
            return if x < y { yes } else { no };
        }
        self.intern(Operation::IfLess(a, b, yes, no))
    }

    /// `base` to a whole power, by squaring.
    pub fn powi(&mut self, base: Node, exponent: i32) -> Node {
        let mut power = self.constant(1.0);
        let mut square = base;
        let mut left = exponent.unsigned_abs();
        while left > 0 {
            if left & 1 == 1 {
                power = self.mul(power, square);
            }
            left >>= 1;
            if left > 0 {
                square = self.mul(square, square);
            }
        }
        if exponent < 0 {
            let one = self.constant(1.0);
            power = self.div(one, power);
        }
        power
    }

    /// `base` to the power `exponent`: a product for whole constants up to 64 in magnitude, a root
    /// for ±1/2, else `exp(exponent · ln(base))`, which is 0 for a base of 0 and NaN for a
    /// negative one.
    pub fn pow(&mut self, base: Node, exponent: Node) -> Node {
        if let Some(value) = self.constant_of(exponent) {
            if value.abs() == 0.5 {
                let root = self.unary(Unary::Sqrt, base);
                return self.powi(root, if value > 0.0 { 1 } else { -1 });
            }
            if value.fract() == 0.0 && value.abs() <= 64.0 {
                return self.powi(base, value as i32);
            }
        }
        let log = self.unary(Unary::Ln, base);
        let scaled = self.mul(exponent, log);
        self.unary(Unary::Exp, scaled)
    }
}
