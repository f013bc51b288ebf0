//! From words to a tree.

mod expression;

use std::collections::HashMap;

use super::lex::{Lexer, Token};
use super::tree::{
    Block, Expression, Function, Pattern, Program, Rule, SPECIAL, Statement, Target, Variable,
};

/// Deeper nesting would exhaust the stack.
const DEEPEST: u32 = 60;

type Parsed<T> = Result<T, String>;

pub fn parse(text: &str) -> Parsed<Program> {
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    let mut parser = Parser {
        lexer,
        token,
        program: Program { globals: SPECIAL.map(str::to_owned).to_vec(), ..Program::default() },
        names: SPECIAL.iter().enumerate().map(|(index, name)| ((*name).to_owned(), index)).collect(),
        functions: HashMap::new(),
        called: Vec::new(),
        locals: HashMap::new(),
        depth: 0,
        no_in: false,
        no_greater: false,
    };
    parser.program()?;
    for (name, index) in &parser.called {
        if parser.program.functions.get(*index).is_none_or(|function| function.name.is_empty()) {
            return Err(format!("function `{name}' not defined"));
        }
    }
    Ok(parser.program)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token,
    program: Program,
    names: HashMap<String, usize>,
    functions: HashMap<String, usize>,
    called: Vec<(String, usize)>,
    locals: HashMap<String, usize>,
    depth: u32,
    /// Where `in` belongs to `for`.
    no_in: bool,
    /// Where `>` belongs to `print`.
    no_greater: bool,
}

impl Parser<'_> {
    fn error<T>(&self) -> Parsed<T> {
        let shown = match &self.token {
            Token::Newline => "newline".to_owned(),
            Token::End => "end of program".to_owned(),
            Token::Sign(sign) | Token::Word(sign) => (*sign).to_owned(),
            Token::Name(name, _) => name.clone(),
            Token::Number(number) => number.to_string(),
            Token::Text(text) | Token::Regex(text) => text.clone(),
        };
        Err(format!("cmd. line:{}: syntax error at or near {shown}", self.lexer.line))
    }

    fn advance(&mut self) -> Parsed<Token> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn is(&self, sign: &str) -> bool {
        matches!(&self.token, Token::Sign(found) | Token::Word(found) if *found == sign)
    }

    fn take(&mut self, sign: &str) -> Parsed<bool> {
        let found = self.is(sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: &str) -> Parsed<()> {
        if self.take(sign)? { Ok(()) } else { self.error() }
    }

    fn newlines(&mut self) -> Parsed<()> {
        while self.token == Token::Newline {
            self.advance()?;
        }
        Ok(())
    }

    fn separators(&mut self) -> Parsed<()> {
        while self.token == Token::Newline || self.is(";") {
            self.advance()?;
        }
        Ok(())
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return Err(format!("cmd. line:{}: nested too deeply", self.lexer.line));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn program(&mut self) -> Parsed<()> {
        self.separators()?;
        while self.token != Token::End {
            if self.take("BEGIN")? {
                let block = self.block()?;
                self.program.begin.push(block);
            } else if self.take("END")? {
                let block = self.block()?;
                self.program.end.push(block);
            } else if self.take("function")? {
                self.function()?;
            } else {
                self.rule()?;
            }
            self.separators()?;
        }
        Ok(())
    }

    fn rule(&mut self) -> Parsed<()> {
        let pattern = if self.is("{") {
            Pattern::Always
        } else {
            let first = self.expression()?;
            if self.take(",")? {
                self.newlines()?;
                Pattern::Range(first, self.expression()?)
            } else {
                Pattern::If(first)
            }
        };
        let body = if self.is("{") { Some(self.block()?) } else { None };
        self.program.rules.push(Rule { pattern, body });
        Ok(())
    }

    fn function(&mut self) -> Parsed<()> {
        let Token::Name(name, _) = self.advance()? else { return self.error() };
        self.expect("(")?;
        let mut locals = HashMap::new();
        while !self.is(")") {
            let Token::Name(parameter, _) = self.advance()? else { return self.error() };
            locals.insert(parameter, locals.len());
            self.newlines()?;
            if !self.take(",")? {
                break;
            }
            self.newlines()?;
        }
        self.expect(")")?;
        self.newlines()?;
        let parameters = locals.len();
        self.locals = locals;
        let body = self.block()?;
        self.locals = HashMap::new();
        let index = self.function_index(&name);
        if let Some(function) = self.program.functions.get_mut(index) {
            *function = Function { name, parameters, body };
        }
        Ok(())
    }

    fn function_index(&mut self, name: &str) -> usize {
        if let Some(index) = self.functions.get(name) {
            return *index;
        }
        let index = self.program.functions.len();
        self.functions.insert(name.to_owned(), index);
        self.program.functions.push(Function { name: String::new(), parameters: 0, body: Vec::new() });
        index
    }

    fn variable(&mut self, name: &str) -> Variable {
        if let Some(index) = self.locals.get(name) {
            return Variable::Local(*index);
        }
        if let Some(index) = self.names.get(name) {
            return Variable::Global(*index);
        }
        let index = self.program.globals.len();
        self.program.globals.push(name.to_owned());
        self.names.insert(name.to_owned(), index);
        Variable::Global(index)
    }

    fn block(&mut self) -> Parsed<Block> {
        self.newlines()?;
        self.expect("{")?;
        let mut statements = Block::new();
        self.separators()?;
        while !self.is("}") {
            statements.push(self.deeper(Self::statement)?);
            self.separators()?;
        }
        self.advance()?;
        Ok(statements)
    }

    fn body(&mut self) -> Parsed<Block> {
        self.newlines()?;
        if self.take(";")? {
            return Ok(Block::new());
        }
        if self.is("{") {
            return self.block();
        }
        Ok(vec![self.deeper(Self::statement)?])
    }

    /// After a simple statement.
    fn terminator(&mut self) -> Parsed<()> {
        if self.token == Token::Newline || self.is(";") {
            self.advance()?;
            return Ok(());
        }
        if self.is("}") || self.token == Token::End { Ok(()) } else { self.error() }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        if self.is("{") {
            return Ok(Statement::Group(self.block()?));
        }
        if self.take("if")? {
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            let yes = self.body()?;
            self.separators_before_else()?;
            let no = if self.take("else")? { self.body()? } else { Block::new() };
            return Ok(Statement::If(condition, yes, no));
        }
        if self.take("while")? {
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            return Ok(Statement::While(condition, self.body()?));
        }
        if self.take("do")? {
            let body = self.body()?;
            self.separators()?;
            self.expect("while")?;
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            self.terminator()?;
            return Ok(Statement::Do(body, condition));
        }
        if self.take("for")? {
            return self.for_loop();
        }
        let statement = self.simple()?;
        self.terminator()?;
        Ok(statement)
    }

    /// `else` may stand behind line ends and one semicolon.
    fn separators_before_else(&mut self) -> Parsed<()> {
        // A statement that ends in a block leaves line ends for its own list, which skips them just as well.
        self.separators()
    }

    fn for_loop(&mut self) -> Parsed<Statement> {
        self.expect("(")?;
        let first = if self.is(";") {
            None
        } else {
            self.no_in = true;
            let first = self.simple();
            self.no_in = false;
            let first = first?;
            if self.is("in") {
                let Statement::Expression(Expression::Variable(variable)) = first else {
                    return self.error();
                };
                self.advance()?;
                let Token::Name(name, _) = self.advance()? else { return self.error() };
                let array = self.variable(&name);
                self.expect(")")?;
                return Ok(Statement::ForIn(variable, array, self.body()?));
            }
            Some(Box::new(first))
        };
        self.expect(";")?;
        self.newlines()?;
        let condition = if self.is(";") { None } else { Some(self.expression()?) };
        self.expect(";")?;
        self.newlines()?;
        let step = if self.is(")") { None } else { Some(Box::new(self.simple()?)) };
        self.expect(")")?;
        Ok(Statement::For { first, condition, step, body: self.body()? })
    }

    fn simple(&mut self) -> Parsed<Statement> {
        let Token::Word(word) = self.token else {
            return Ok(Statement::Expression(self.expression()?));
        };
        match word {
            "getline" => return Ok(Statement::Expression(self.expression()?)),
            "print" | "printf" => {
                self.advance()?;
                return self.print(word == "printf");
            }
            _ => {}
        }
        self.advance()?;
        let ends = self.token == Token::Newline || self.token == Token::End || self.is(";") || self.is("}");
        Ok(match word {
            "break" => Statement::Break,
            "continue" => Statement::Continue,
            "next" => Statement::Next,
            "nextfile" => Statement::NextFile,
            "exit" => Statement::Exit(if ends { None } else { Some(self.expression()?) }),
            "return" => Statement::Return(if ends { None } else { Some(self.expression()?) }),
            "delete" => {
                let Token::Name(name, _) = self.advance()? else { return self.error() };
                let variable = self.variable(&name);
                let index = if self.take("[")? {
                    let index = self.list("]")?;
                    self.expect("]")?;
                    Some(index)
                } else {
                    None
                };
                Statement::Delete(variable, index)
            }
            _ => return self.error(),
        })
    }

    fn print(&mut self, formatted: bool) -> Parsed<Statement> {
        let mut items = Vec::new();
        let ends = |parser: &Self| {
            parser.token == Token::Newline
                || parser.token == Token::End
                || [";", "}", ">", ">>", "|"].iter().any(|sign| parser.is(sign))
        };
        if !ends(self) {
            self.no_greater = true;
            let result = self.print_items();
            self.no_greater = false;
            items = result?;
        }
        let target = if self.take(">")? {
            Some(Target::File)
        } else if self.take(">>")? {
            Some(Target::Append)
        } else if self.take("|")? {
            Some(Target::Command)
        } else {
            None
        };
        let target = match target {
            Some(kind) => {
                self.no_greater = true;
                let name = self.concatenation();
                self.no_greater = false;
                Some((kind, name?))
            }
            None => None,
        };
        if formatted && items.is_empty() {
            return self.error();
        }
        Ok(if formatted { Statement::Printf { items, target } } else { Statement::Print { items, target } })
    }

    fn print_items(&mut self) -> Parsed<Vec<Expression>> {
        let first = self.expression()?;
        // `print (a, b) > "x"`: the list in parentheses is the list of items.
        if let Expression::In(items, Variable::Local(usize::MAX)) = first {
            return Ok(items);
        }
        let mut items = vec![first];
        while self.take(",")? {
            self.newlines()?;
            items.push(self.expression()?);
        }
        Ok(items)
    }
}
