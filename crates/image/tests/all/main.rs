//! Files and tables, against truth and against the programs that write them.

mod copies;
mod damage;
mod gradients;
mod gradients_mrtrix;
mod growing;
mod peers;
mod round_trips;
