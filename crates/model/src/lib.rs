//! See ARCHITECTURE.md, section "The rooms".
