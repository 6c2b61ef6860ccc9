"""Tests of the credit tables: a package, since `bench` has a module of the same name."""
