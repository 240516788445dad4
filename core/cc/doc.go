// Package cc is the contract between a transport and a congestion controller: a
// Controller is told what happened to one flow's packets and answers with a
// window and a rate. The transport owns everything else: what is lost, what is
// sent again, and when. Each baseline controller has a folder; those
// with a rate can be put into a BoundedWindow, and package supply bounds any of them by
// what NACKs of switches offer. cctest has the model that every controller must pass.
package cc
