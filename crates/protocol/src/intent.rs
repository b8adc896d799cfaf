pub enum ValueType {}
