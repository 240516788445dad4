// Package collective makes jobs of collective operations, such as the all-reduce of training, by formula: iterations of
// computing and communicating, in channels and chunks. No operation is listed, so there may be hundreds of millions.
package collective
